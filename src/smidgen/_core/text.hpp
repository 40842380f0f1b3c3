// Words and pairs of words of ASCII texts, found without a string for each of them; and their weights (tf-idf).
//
// A term is known by two residues of its letters (Rabin's fingerprint, to two bases), 62 bits together. Two terms that
// share all of them would share a column; among a million terms the chance of that is one in ten million.
#pragma once

#include "math.hpp"

namespace smidgen {

using Bytes = Vec<const uint8_t>;

// A hash table with open addressing has a power of two of places.
INLINE bool is_power_of_two(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

namespace text {

inline constexpr uint64_t P = (uint64_t(1) << 31) - 1;    // a prime
inline constexpr uint64_t BASE = 263, OTHER = 1009, JOIN = 1000003, SEED = 7;

// A number below 2⁶² modulo 2³¹ − 1, not fully reduced: below 2³².
INLINE uint64_t residue(uint64_t number) { return (number & P) + (number >> 31); }

// The two residues of a word, or of a pair of words.
struct Residues {
    uint64_t p = SEED, q = SEED;
    INLINE void add(uint64_t letter) {
        p = residue(p * BASE + letter);
        q = residue(q * OTHER + letter);
    }
    INLINE Residues joined(Residues next) const { return {residue(p * JOIN + next.p), residue(q * JOIN + next.q)}; }
    INLINE int64_t key() const { return static_cast<int64_t>((p << 31) ^ q); }    // never negative
};

// A letter, digit or underscore in lower case; 0 for all others.
INLINE uint8_t letter(uint8_t byte) {
    if (byte >= 'A' && byte <= 'Z') return byte + 32;
    return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '_' ? byte : 0;
}

// The known terms of a text field: a table of keys, −1 in free places, and the id of each.
struct Known {
    Vec<const int64_t> keys, ids;
    FIELDS(keys, ids)
    void check() const {
        require(is_power_of_two(keys.n) && ids.n == keys.n, "keys and ids need one length, a power of two");
    }
};

INLINE int64_t first_place(int64_t key, int64_t size) { return (key ^ (key >> 29)) & (size - 1); }

// The place of a key in a table, or the free place where it would go; −1 if the table is full without it.
INLINE int64_t place(Vec<const int64_t> keys, int64_t key) {
    int64_t at = first_place(key, keys.n);
    for (int64_t tries = 0; tries < keys.n; ++tries) {
        if (keys[at] == key || keys[at] < 0) return at;
        at = (at + 1) & (keys.n - 1);
    }
    return -1;
}

// What is noted of each term: its id or −1, how often it occurs, where its first occurrence begins and ends.
enum Line { ID, COUNT, FIRST, LAST, LINES };

struct Word {
    int64_t begin, end;
    Residues residues;
};
struct Seen {
    int64_t key, at;
};

// Memory for scanning texts of at most so many bytes.
class Room {
  public:
    explicit Room(int64_t longest) : words_(longest / 2 + 1), seen_(table_size(longest / 2 + 1)) {}
    static int64_t table_size(int64_t words) {
        int64_t size = 64;
        while (size < 4 * words) size *= 2;
        return size;
    }
    Word* words() { return words_.data(); }
    Seen* seen() { return seen_.data(); }

  private:
    Scratch<Word> words_;
    Scratch<Seen> seen_;
};

// The words of text[first … last − 1]; returns how many there are.
inline int64_t find_words(Bytes text, int64_t first, int64_t last, Word* words) {
    int64_t n = 0, begun = -1;
    Residues now;
    for (int64_t k = first; k <= last; ++k) {
        uint8_t c = k < last ? letter(text[k]) : 0;
        if (c) {
            if (begun < 0) begun = k;
            now.add(c);
        } else if (begun >= 0) {
            words[n++] = {begun, k, now};
            now = Residues{};
            begun = -1;
        }
    }
    return n;
}

// The words and pairs of text[first … last − 1], each once, in the order of their first occurrence, words before pairs.
// New ones are noted by `note(key, first, last)`, repeated ones by `repeat(at)`, at being the how-manieth it was.
template <class Note, class Repeat>
INLINE int64_t each_term(Bytes text, int64_t first, int64_t last, Room& room, Note note, Repeat repeat) {
    Word* words = room.words();
    Seen* seen = room.seen();
    int64_t n = find_words(text, first, last, words), found = 0, size = Room::table_size(n);
    for (int64_t k = 0; k < size; ++k) seen[k].key = -1;
    for (int64_t k = 0; k < 2 * n - 1; ++k) {
        const Word& word = words[k < n ? k : k - n];
        const Word& end = words[k < n ? k : k - n + 1];
        int64_t key = k < n ? word.residues.key() : word.residues.joined(end.residues).key();
        int64_t at = first_place(key, size);
        while (seen[at].key != key && seen[at].key >= 0) at = (at + 1) & (size - 1);    // at most half of it is in use
        if (seen[at].key == key) {
            repeat(seen[at].at);
        } else {
            seen[at] = {key, found};
            note(found++, key, word.begin, end.end);
        }
    }
    return found;
}

// The id of a term; −1 if it is not known.
INLINE int64_t id_of(const Known& known, int64_t key) {
    int64_t at = place(known.keys, key);
    return at >= 0 && known.keys[at] == key ? known.ids[at] : -1;
}

// The weight of a term that occurs so often in one text: 1 + ln(count).
INLINE double weight_of(int64_t count) { return count > 1 ? 1.0 + log(double(count)) : 1.0; }

// One text: x ← x·ln(1 + (t + 1)/(df + 1)), then to unit length; t is the number of learned rows that had this text.
// A term of id −1 is new, one beyond the table forgotten: of neither a row is known.
inline void weigh(Vec<const double> df, Vec<const int64_t> ids, double rows, Vec<double> values) {
    double squares = 0.0, before = NaN, idf = NaN;
    for (int64_t k = 0; k < ids.n; ++k) {
        double seen = ids[k] >= 0 && ids[k] < df.n ? df[ids[k]] : 0.0;
        if (seen != before) {    // many neighbors are alike: most pairs are as rare as each other
            idf = log(1.0 + (rows + 1.0) / (seen + 1.0));
            before = seen;
        }
        values[k] *= idf;
        squares += values[k] * values[k];
    }
    double length = root(squares);
    for (int64_t k = 0; k < ids.n; ++k) values[k] /= length;
}

}  // namespace text
}  // namespace smidgen
