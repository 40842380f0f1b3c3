// The terms of text fields: tables of known ones, scans of one text and of many, weights.
#include "text.hpp"

#include "bind.hpp"
#include "rows.hpp"

namespace smidgen {
namespace {

using namespace text;

void require_table(Vec<int64_t> keys, Vec<int64_t> ids) { Known{keys, ids}.check(); }

void put(Vec<int64_t> keys, Vec<int64_t> ids, int64_t key, int64_t found) {
    int64_t at = place(keys, key);
    require(at >= 0, "the table is full");
    keys[at] = key;
    ids[at] = found;
}

// Enter one term: a word, or two words with a space between, in lower case.
void add_term(Vec<int64_t> keys, Vec<int64_t> ids, Bytes term, int64_t found) {
    require_table(keys, ids);
    Residues before, now;
    bool pair = false;
    for (int64_t k = 0; k < term.n; ++k) {
        if (term[k] == ' ') {
            before = now;
            now = Residues{};
            pair = true;
        } else {
            now.add(term[k]);
        }
    }
    put(keys, ids, (pair ? before.joined(now) : now).key(), found);
}

// Move a table into a larger one, which must be empty.
void rehash(Vec<const int64_t> old_keys, Vec<const int64_t> old_ids, Vec<int64_t> keys, Vec<int64_t> ids) {
    require(old_keys.n == old_ids.n, "old_keys and old_ids must have one length");
    require_table(keys, ids);
    for (int64_t k = 0; k < old_keys.n; ++k) {
        if (old_keys[k] >= 0) put(keys, ids, old_keys[k], old_ids[k]);
    }
}

// The terms of texts one behind the other, from `first` to each of `ends`.
void require_texts(Bytes letters, int64_t first, Vec<const int64_t> ends) {
    require(first >= 0 && first <= letters.n, "first lies outside the letters");
    bool rising = true;
    for (int64_t t = 0; t < ends.n; ++t) rising &= ends[t] >= (t ? ends[t - 1] : first);
    require(rising && (ends.n == 0 || ends[ends.n - 1] <= letters.n), "ends must rise within the letters");
}

// How many terms there are at most: two for each word.
int64_t most_terms(Bytes letters, int64_t first, Vec<const int64_t> ends) {
    require_texts(letters, first, ends);
    int64_t words = 0;
    for (int64_t t = 0; t < ends.n; ++t) {
        bool inside = false;
        for (int64_t k = first; k < ends[t]; ++k) {
            bool now = letter(letters[k]) != 0;
            words += now && !inside;
            inside = now;
        }
        first = ends[t];
    }
    return 2 * words;
}

// The terms of one text, from column n of `out` on; returns the column behind them, and whether all are known and
// occur once.
INLINE std::tuple<int64_t, bool> scan(Bytes letters, int64_t first, int64_t last, const Known& known, Room& room,
                                      Mat<int64_t> out, int64_t n) {
    bool plain = true;
    int64_t found = each_term(
        letters, first, last, room,
        [&](int64_t at, int64_t key, int64_t begin, int64_t end) {
            require(n + at < out.cols, "out has too few columns");
            int64_t id = id_of(known, key);
            plain &= id >= 0;
            out(ID, n + at) = id;
            out(COUNT, n + at) = 1;
            out(FIRST, n + at) = begin;
            out(LAST, n + at) = end;
        },
        [&](int64_t at) {
            plain = false;
            ++out(COUNT, n + at);
        });
    return {n + found, plain};
}

std::tuple<int64_t, bool> scan_text(Bytes letters, Known known, Mat<int64_t> out) {
    known.check();
    require(out.rows == LINES, "out needs four rows");
    Room room(letters.n);
    return scan(letters, 0, letters.n, known, room, out, 0);
}

bool scan_texts(Bytes letters, int64_t first, Vec<const int64_t> ends, Known known, Mat<int64_t> out,
                Vec<int64_t> starts) {
    known.check();
    require_texts(letters, first, ends);
    require(out.rows == LINES && starts.n == ends.n + 1, "out needs four rows, and starts one place more than ends");
    int64_t longest = 0;
    for (int64_t t = 0; t < ends.n; ++t) longest = largest(longest, ends[t] - (t ? ends[t - 1] : first));
    Room room(longest);
    bool simple = true;
    int64_t n = 0;
    starts[0] = 0;
    for (int64_t t = 0; t < ends.n; ++t) {
        int64_t end = ends[t];
        auto [next, plain] = scan(letters, first, end, known, room, out, n);
        simple &= plain;
        first = end;
        starts[t + 1] = n = next;
    }
    return simple;
}

int64_t count_terms(Ascii text) {
    int64_t words = 0;
    bool inside = false;
    for (int64_t k = 0; k < text.letters.n; ++k) {
        bool now = letter(text.letters[k]) != 0;
        words += now && !inside;
        inside = now;
    }
    return words > 0 ? 2 * words - 1 : 0;
}

double term_weight(int64_t count) { return weight_of(count); }

void term_weights(Vec<const int64_t> counts, Vec<double> out) {
    require(counts.n == out.n, "counts and out must have one length");
    for (int64_t k = 0; k < counts.n; ++k) out[k] = weight_of(counts[k]);
}

void weigh_texts(Vec<const double> df, Vec<const int64_t> starts, Vec<const int64_t> ids, Vec<const double> rows,
                 Vec<double> values) {
    require(ids.n == values.n, "ids and values must have one length");
    require_starts(starts, ids.n);
    require(rows.n == starts.n - 1, "rows needs one place per text");
    for (int64_t s = 0; s < rows.n; ++s) {
        weigh(df, ids.slice(starts[s], starts[s + 1]), rows[s], values.slice(starts[s], starts[s + 1]));
    }
}

const Family family("text", {
    entry<add_term>("add_term", "keys, ids, term, found", "Enter a word, or a pair of words, into a table of terms."),
    entry<rehash>("rehash", "old_keys, old_ids, keys, ids", "Move a table of terms into a larger one, which is empty."),
    entry<most_terms>("most_terms", "letters, first, ends", "How many terms texts can have at most: two for each word."),
    entry<count_terms>("count_terms", "text", "How many terms a text has, repeated ones too: words and pairs of neighbors."),
    entry<scan_text>("scan_text", "letters, known, out",
                     "The terms of a text: ids, counts, begins, ends. How many; whether all are known and occur once."),
    entry<scan_texts>("scan_texts", "letters, first, ends, known, out, starts",
                      "The same for texts one behind the other; writes where the terms of each begin."),
    entry<term_weight>("term_weight", "count", "1 + ln(count): the weight of a term that occurs so often in a text."),
    entry<term_weights>("term_weights", "counts, out", "1 + ln(count) of each."),
    entry<weigh_texts>("weigh_texts", "df, starts, ids, rows, values",
                       "x ← x·ln(1 + (t + 1)/(df + 1)), then each text to unit length; t is its place in rows."),
});

}  // namespace
}  // namespace smidgen
