// Whole texts as numbers: what can be counted on them, phrases that tell a style, hashed words and letters; and the edit
// distance of two texts.
#include "bind.hpp"
#include "lanes.hpp"
#include "text.hpp"

namespace smidgen {
namespace {

// Kinds of characters (smidgen/features/prose/characters.py). Those of words stand together: \w is LETTER … DIGIT.
enum Kind { SPACE, LINE, LETTER, CAPITAL, DIGIT, MARK, EMOJI };

INLINE bool in_word(int64_t kind) { return kind >= LETTER && kind <= DIGIT; }

// The characters of a text, as code points and kinds. Outside the text the code is 0 and the kind a line break.
struct Characters {
    Vec<const uint32_t> codes;
    Vec<const uint8_t> kinds;
    FIELDS(codes, kinds)
    void check() const { require(codes.n == kinds.n, "codes and kinds must have one length"); }
    INLINE int64_t size() const { return codes.n; }
    INLINE uint32_t code(int64_t k) const { return k >= 0 && k < codes.n ? codes[k] : 0; }
    INLINE int kind(int64_t k) const { return k >= 0 && k < kinds.n ? kinds[k] : int(LINE); }
};

// --- what can be counted ------------------------------------------------------------------------------------------------

enum Counted {
    WORDS, LETTERS, SENTENCES, PARAGRAPHS, BULLETS, NUMBERED, HEADINGS, EXCLAMATIONS, QUESTIONS, PICTURES, NUMBERS, COMMAS,
    DASHES, COLONS, BRACKETS, QUOTES, ELLIPSES, SHOUTED, SMALL_STARTS, APOSTROPHES, LINKS, BACKTICKS, COUNTED
};
enum : uint32_t {
    BULLET = 0x2022, EN_DASH = 0x2013, EM_DASH = 0x2014, CURLY = 0x2019, LEFT_QUOTE = 0x201C, RIGHT_QUOTE = 0x201D,
    DOTS = 0x2026
};

template <class... Others>
INLINE bool one_of(uint32_t c, Others... others) {
    return ((c == static_cast<uint32_t>(others)) || ...);
}

// Whether only spaces stand before a character on its line.
INLINE bool starts_line(const Characters& text, int64_t k) {
    do --k;
    while (k >= 0 && text.kinds[k] == SPACE);
    return k < 0 || text.kinds[k] == LINE;
}

// What a character and its neighbors tell.
void count_marks(const Characters& text, int64_t* out) {
    int64_t letters = 0;
    for (int64_t k = 0; k < text.size(); ++k) letters += in_word(text.kinds[k]);
    out[LETTERS] += letters;
    for (int64_t k = 0; k < text.size(); ++k) {
        if (text.kinds[k] < MARK) continue;
        uint32_t c = text.codes[k], next = text.code(k + 1);
        if (text.kinds[k] == EMOJI) {
            ++out[PICTURES];
        } else if (c == '!') {
            ++out[EXCLAMATIONS];
        } else if (c == '?') {
            ++out[QUESTIONS];
        } else if (c == ',') {
            ++out[COMMAS];
        } else if (one_of(c, ';', ':')) {
            bool smile = one_of(text.code(k + 1 + (next == '-')), '(', ')', 'D', 'P'), slash = c == ':' && next == '/';
            out[smile ? PICTURES : COLONS] += !slash;
            out[LINKS] += slash && text.code(k + 2) == '/';
        } else if (c == '(') {
            out[BRACKETS] += !one_of(text.code(k - 1), ':', ';', '-');
        } else if (one_of(c, '"', LEFT_QUOTE, RIGHT_QUOTE)) {
            ++out[QUOTES];
        } else if (c == '`') {
            ++out[BACKTICKS];
        } else if (c == DOTS) {
            ++out[ELLIPSES];
        } else if (c == '.') {
            out[ELLIPSES] += next == '.' && text.code(k - 1) != '.';
        } else if (one_of(c, EN_DASH, EM_DASH) || (c == '-' && next == '-')) {
            ++out[DASHES];
        } else if (c == '-') {
            out[DASHES] += text.kind(k - 1) == SPACE && text.kind(k + 1) == SPACE && !starts_line(text, k);
        } else if (one_of(c, '\'', CURLY)) {
            bool inside = in_word(text.kind(k - 1)) && in_word(text.kind(k + 1));
            out[APOSTROPHES] += inside && !one_of(next, 'S', 's');
        }
    }
}

// Words, numbers, words in capitals, sentences, and sentences that begin with a small letter.
void count_words(const Characters& text, int64_t* out) {
    bool begun = false, waiting = true;
    int64_t capitals = 0, digits = 0, size = 0;
    for (int64_t k = 0; k <= text.size(); ++k) {
        int kind = text.kind(k);
        if (in_word(kind)) {
            if (waiting && !begun) {
                ++out[SENTENCES];
                out[SMALL_STARTS] += kind == LETTER;
                waiting = false;
            }
            begun = true;
            capitals += kind == CAPITAL;
            digits += kind == DIGIT;
            ++size;
            continue;
        }
        if (begun) {
            ++out[WORDS];
            out[NUMBERS] += digits > 0;
            out[SHOUTED] += capitals == size && size > 1;
            begun = false;
            capitals = digits = size = 0;
        }
        int then = text.kind(k + 1);
        bool ends = one_of(text.code(k), '.', '!', '?', DOTS);
        waiting = waiting || kind == LINE || (ends && (then == SPACE || then == LINE || text.code(k + 1) == RIGHT_QUOTE));
    }
}

// Paragraphs, bullet points, numbered points and headings.
void count_lines(const Characters& text, int64_t* out) {
    int64_t n = text.size();
    bool empty = true;
    for (int64_t k = 0; k < n; ++k) {
        while (k < n && text.kinds[k] == SPACE) ++k;
        if (k == n) return;
        if (text.kinds[k] == LINE) {
            empty = true;
            continue;
        }
        uint32_t c = text.codes[k];
        out[PARAGRAPHS] += empty;
        empty = false;
        out[BULLETS] += text.kind(k + 1) == SPACE && one_of(c, '-', '*', BULLET, EN_DASH);
        out[HEADINGS] += c == '#' || (c == '*' && text.code(k + 1) == '*');
        int64_t digit = k;
        while (digit < n && text.kinds[digit] == DIGIT) ++digit;
        out[NUMBERED] += digit > k && one_of(text.code(digit), '.', ')') && text.kind(digit + 1) == SPACE;
        while (k < n && text.kinds[k] != LINE) ++k;
    }
}

// --- words, pairs and phrases by their hashes ----------------------------------------------------------------------------

// Two residues of 31 bits: those of a word, a pair or a phrase.
struct Key {
    static constexpr uint32_t MASK = (uint32_t(1) << 31) - 1, FNV = 16777619, POLYNOMIAL = 1000003, FINAL = 73244475;
    uint32_t left = 17, right = 29;

    static INLINE uint32_t left_of(uint32_t h, uint32_t code) { return ((h ^ code) * FNV) & MASK; }
    static INLINE uint32_t right_of(uint32_t h, uint32_t code) { return (h * POLYNOMIAL + code + 1) & MASK; }
    static INLINE Key of(int64_t whole) {
        return {static_cast<uint32_t>(whole >> 31) & MASK, static_cast<uint32_t>(whole) & MASK};
    }
    INLINE Key with(uint32_t code) const { return {left_of(left, code), right_of(right, code)}; }
    // The key of a phrase that goes on with another word.
    INLINE Key joined(Key next) const { return {left_of((left * 31 + 7) & MASK, next.left), right_of(right, next.right)}; }
    INLINE int64_t whole() const { return int64_t(left) << 31 | right; }
    // All bits in 31 of them, well mixed.
    INLINE uint32_t mixed() const {
        uint32_t h = left ^ (right >> 3) ^ ((right << 5) & MASK);
        h = ((h ^ (h >> 16)) * FINAL) & MASK;
        h = ((h ^ (h >> 15)) * FINAL) & MASK;
        return h ^ (h >> 16);
    }
};

// The key of each word in order; returns how many there are. Without a branch, as nobody can predict where words end.
int64_t write_words(const Characters& text, Vec<Key> keys) {
    int64_t n = 0;
    bool begun = false;
    Key now;
    for (int64_t k = 0; k < text.size(); ++k) {
        bool inside = in_word(text.kinds[k]);
        n += inside && !begun;
        now = (begun ? now : Key{}).with(text.codes[k]);
        keys[n - inside] = now;    // behind the words: written over
        begun = inside;
    }
    return n;
}

// A key for each word, each run of marks and each run of line breaks: \w+, [^\w\s]+, \n+. Returns how many there are.
int64_t write_tokens(const Characters& text, Vec<int64_t> keys) {
    int64_t n = 0;
    int before = SPACE;
    Key now;
    for (int64_t k = 0; k < text.size(); ++k) {
        int kind = text.kinds[k];
        if (in_word(kind)) kind = LETTER;
        if (kind > DIGIT) kind = MARK;
        if (kind != before) {
            now = Key{};
            n += kind != SPACE;
        }
        if (kind != SPACE) {
            now = now.with(text.codes[k]);
            keys[n - 1] = now.whole();
        }
        before = kind;
    }
    return n;
}

// Phrases by their keys: keys in the first row (−1: a free place), in the second a bit for each kind.
void require_phrases(Mat<const int64_t> table) {
    require(table.rows == 2 && is_power_of_two(table.cols), "the table of phrases needs two rows, a power of two long");
}

// The place of a phrase, or the free place where it would go; −1 if the table is full without it.
INLINE int64_t place_of(Vec<const int64_t> keys, Key key) {
    int64_t mask = keys.n - 1, at = key.mixed() & mask, whole = key.whole();
    for (int64_t tries = 0; tries < keys.n; ++tries, at = (at + 1) & mask) {
        if (keys[at] == whole || keys[at] < 0) return at;
    }
    return -1;
}

// Kinds of phrases (smidgen/features/prose/lexicon.py).
enum Phrase {
    GREETING, SIGN_OFF, OPENING, HEDGE, THANKS, APOLOGY, PLEASE, INTENSIFIER, FORMAL, INFORMAL, MYSELF, WE, YOU, OFFER,
    CONTRACTED, PHRASES
};

struct Found {
    int64_t count[PHRASES] = {}, first[PHRASES] = {}, last[PHRASES] = {};
};

// Count the phrases of each kind, and note the first and the last word at which one begins.
void find_phrases(Vec<const Key> words, Mat<const int64_t> table, Found& found) {
    for (int64_t k = 0; k < words.n; ++k) {
        Key key = words[k];
        for (int64_t size = 1; size <= 3 && k + size <= words.n; ++size) {
            if (size > 1) key = key.joined(words[k + size - 1]);
            int64_t at = place_of(table[0], key);
            if (at < 0 || table(0, at) != key.whole()) continue;
            for (int kind = 0; kind < PHRASES; ++kind) {
                if (!(table(1, at) >> kind & 1)) continue;
                if (found.count[kind]++ == 0) found.first[kind] = k;
                found.last[kind] = k;
            }
        }
    }
}

void add_phrase(Mat<int64_t> table, Characters text, int64_t kind) {
    text.check();
    require_phrases(table);
    require(kind >= 0 && kind < PHRASES, "there is no such kind of phrase");
    Scratch<Key> words(text.size() / 2 + 2);
    int64_t n = write_words(text, words.vec());
    require(n >= 1 && n <= 3, "a phrase has one to three words");
    Key key = words[0];
    for (int64_t k = 1; k < n; ++k) key = key.joined(words[k]);
    int64_t at = place_of(table[0], key);
    require(at >= 0, "the table of phrases is full");
    table(0, at) = key.whole();
    table(1, at) |= int64_t(1) << kind;
}

// --- columns ---------------------------------------------------------------------------------------------------------------

// Columns of style, of words and of letters (smidgen/features/prose/reading.py).
inline constexpr int64_t STYLE_COLUMNS = 64, WORD_COLUMNS = 768, LETTER_COLUMNS = 1024;

// Words and pairs in hashed columns with a sign, each once with 1 + ln(how often), then to unit length.
void lay_words(Vec<const Key> words, Vec<double> out) {
    struct Seen {
        int64_t key, count;
    };
    int64_t n = words.n, size = 16;
    while (size < 4 * n) size *= 2;
    Scratch<Seen> table(size, Seen{-1, 0});
    Vec<Seen> seen = table.vec();
    auto count = [&](Key key) {
        int64_t at = key.mixed() & (size - 1), whole = key.whole();
        while (seen[at].key != whole && seen[at].key >= 0) at = (at + 1) & (size - 1);    // at most half of it is in use
        seen[at].key = whole;
        ++seen[at].count;
    };
    for (int64_t k = 0; k < n; ++k) count(words[k]);
    for (int64_t k = 0; k + 1 < n; ++k) count(words[k].joined(words[k + 1]));
    Scratch<int64_t> places(size);
    Vec<int64_t> taken = places.vec();
    int64_t m = 0;
    for (int64_t at = 0; at < size; ++at) {    // without a branch, as nobody can predict it
        taken[m] = at;
        m += seen[at].count > 0;
    }
    double squares = 0.0;
    for (int64_t k = 0; k < m; ++k) {
        const Seen& term = seen[taken[k]];
        double worth = text::weight_of(term.count);
        uint32_t h = Key::of(term.key).mixed();
        squares += worth * worth;
        out[(h >> 1) % uint32_t(WORD_COLUMNS)] += h & 1 ? worth : -worth;
    }
    double factor = squares > 0.0 ? 1.0 / root(squares) : 0.0;
    for (int64_t j = 0; j < out.n; ++j) out[j] *= factor;
}

// Runs of three, four and five characters in hashed columns with a sign, by how often they occur, then to unit length.
void lay_letters(const Characters& text, Vec<double> out) {
    int64_t n = text.size(), squares = 0;
    Scratch<uint32_t> letters(n), runs(n), places(n);
    int32_t counts[2 * LETTER_COLUMNS] = {};
    uint32_t *letter = letters.data(), *run = runs.data(), *place = places.data();
    for (int64_t k = 0; k < n; ++k) {
        letter[k] = text.kinds[k] == SPACE ? uint32_t(' ') : text.codes[k];
        run[k] = Key::left_of(17, letter[k]);
    }
    for (int64_t size = 2; size <= 5; ++size) {
        const uint32_t* next = letter + size - 1;
        int64_t last = n - size + 1;
        for (int64_t k = 0; k < last; ++k) run[k] = Key::left_of(run[k], next[k]);
        if (size < 3) continue;
        for (int64_t k = 0; k < last; ++k) {    // the lowest bit is the sign, those above it are the column
            uint32_t h = ((run[k] ^ (run[k] >> 15)) * Key::FINAL) & Key::MASK;
            place[k] = (h ^ (h >> 16)) & (2 * LETTER_COLUMNS - 1);
        }
        for (int64_t k = 0; k < last; ++k) ++counts[place[k]];
    }
    for (int64_t j = 0; j < LETTER_COLUMNS; ++j) {
        int64_t count = int64_t(counts[2 * j + 1]) - counts[2 * j];
        out[j] = double(count);
        squares += count * count;    // whole numbers: no order changes the sum
    }
    double factor = squares > 0 ? 1.0 / root(double(squares)) : 0.0;
    for (int64_t j = 0; j < LETTER_COLUMNS; ++j) out[j] *= factor;
}

// The traits of style, in the order of TRAITS (smidgen/features/prose/traits.py): a size, a rate, a count or a flag.
enum TraitKind : uint8_t { SIZE, RATE, COUNT, FLAG };
inline constexpr TraitKind TRAIT_KINDS[] = {
    SIZE,  SIZE,  SIZE,  COUNT, COUNT, COUNT, COUNT, COUNT, COUNT, COUNT, COUNT, RATE, COUNT,
    COUNT, COUNT, COUNT, COUNT, COUNT, RATE,  COUNT, COUNT, COUNT, FLAG,  FLAG,  FLAG, COUNT,
    COUNT, COUNT, COUNT, COUNT, COUNT, COUNT, RATE,  RATE,  RATE,  RATE,  COUNT};
inline constexpr int64_t TRAITS = sizeof TRAIT_KINDS / sizeof TRAIT_KINDS[0];
// Words among which a farewell, an opening courtesy or a greeting must begin to count as one.
inline constexpr int64_t ENDING = 8, BEGINNING = 10, FIRST = 2;

// The traits of a text, from what was counted on it and the phrases that were found in it.
void measure(const int64_t* counted, const Found& found, Vec<double> out) {
    double words = double(largest(1, counted[WORDS])), sentences = double(largest(1, counted[SENTENCES]));
    int64_t contracted = counted[APOSTROPHES] + found.count[CONTRACTED];
    out[0] = double(counted[WORDS]);
    out[1] = words / sentences;
    out[2] = double(counted[LETTERS]) / words;
    for (int k = PARAGRAPHS; k <= NUMBERS; ++k) out[k] = double(counted[k]);
    out[11] = double(counted[COMMAS]) / sentences;
    for (int k = DASHES; k <= SHOUTED; ++k) out[k] = double(counted[k]);
    out[18] = double(counted[SMALL_STARTS]) / sentences;
    out[19] = double(contracted);
    out[20] = double(counted[LINKS]);
    out[21] = double(counted[BACKTICKS]);
    out[22] = found.count[GREETING] > 0 && found.first[GREETING] < FIRST;
    out[23] = found.count[SIGN_OFF] > 0 && found.last[SIGN_OFF] >= counted[WORDS] - ENDING;
    out[24] = found.count[OPENING] > 0 && found.first[OPENING] < BEGINNING;
    for (int k = HEDGE; k <= INFORMAL; ++k) out[22 + k] = double(found.count[k]);
    out[32] = 10.0 * double(found.count[FORMAL] - found.count[INFORMAL] - contracted) / words;
    for (int k = MYSELF; k <= YOU; ++k) out[23 + k] = 10.0 * double(found.count[k]) / words;
    out[36] = double(found.count[OFFER]);
}

template <int N>
struct Logs {
    double logs[N];
    explicit Logs(const double (&knots)[N]) {
        for (int k = 0; k < N; ++k) logs[k] = log(knots[k]);
    }
    INLINE double operator[](int k) const { return logs[k]; }
};

// How near ln x lies to the logarithm of each knot: 1 there, 0 at its neighbors, straight in between; beyond the ends 1.
template <int N>
void lay_hats(double x, const Logs<N>& logs, Vec<double> out) {
    double at = log(largest(x, 1.0));
    if (at <= logs[0] || at >= logs[N - 1]) {
        out[at <= logs[0] ? 0 : N - 1] = 1.0;
        return;
    }
    for (int k = 0; k < N - 1; ++k) {
        if (logs[k] <= at && at < logs[k + 1]) {
            double share = (at - logs[k]) / (logs[k + 1] - logs[k]);
            out[k] = 1.0 - share;
            out[k + 1] = share;
        }
    }
}

const Logs<8> LENGTH_KNOTS({5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 640.0});
const Logs<6> SENTENCE_KNOTS({4.0, 8.0, 12.0, 18.0, 26.0, 40.0});

// The columns of style of a text with these traits, of comparable size.
void lay_traits(Vec<const double> traits, Vec<double> out) {
    for (int64_t k = 0; k < TRAITS; ++k) {
        double x = traits[k];
        switch (TRAIT_KINDS[k]) {
            case SIZE: out[k] = 0.5 * log(largest(x, 1.0)); break;
            case RATE: out[k] = x / (1.0 + __builtin_fabs(x)); break;
            case COUNT: out[k] = 0.5 * log1p(x); break;
            case FLAG: out[k] = x; break;
        }
    }
    lay_hats(traits[0], LENGTH_KNOTS, out.slice(TRAITS, TRAITS + 8));
    lay_hats(traits[1], SENTENCE_KNOTS, out.slice(TRAITS + 8, TRAITS + 14));
}

// A text: its columns (each rounded to single precision), its traits and the keys of its tokens, from its characters as
// they are and case folded. Returns how many tokens there are.
int64_t read_text(Characters text, Characters folded, Mat<const int64_t> phrases, Vec<double> row, Vec<double> traits,
                  Vec<int64_t> tokens) {
    text.check();
    folded.check();
    require_phrases(phrases);
    require(row.n == STYLE_COLUMNS + WORD_COLUMNS + LETTER_COLUMNS && traits.n == TRAITS, "row or traits has another length");
    require(tokens.n >= text.size(), "tokens needs one place per character");
    require(text.size() <= INT32_MAX && folded.size() <= INT32_MAX, "the text is too long");
    int64_t counted[COUNTED] = {};
    Found found;
    Scratch<Key> keys(folded.size() / 2 + 2);
    Vec<const Key> words = keys.vec().slice(0, write_words(folded, keys.vec()));
    clear(row);
    clear(traits);
    count_marks(text, counted);
    count_words(text, counted);
    count_lines(text, counted);
    find_phrases(words, phrases, found);
    measure(counted, found, traits);
    lay_traits(traits, row.slice(0, STYLE_COLUMNS));
    lay_words(words, row.slice(STYLE_COLUMNS, STYLE_COLUMNS + WORD_COLUMNS));
    lay_letters(folded, row.from(STYLE_COLUMNS + WORD_COLUMNS));
    for (int64_t k = 0; k < row.n; ++k) row[k] = double(static_cast<float>(row[k]));
    return write_tokens(text, tokens);
}

// --- how much was changed ----------------------------------------------------------------------------------------------------

// Tokens as numbers: a number for each different key, counted from 0; returns how many there are.
int64_t number_tokens(Vec<const int64_t> a, Vec<const int64_t> b, Vec<int32_t> one, Vec<int32_t> other) {
    struct Numbered {
        int64_t key, number;
    };
    int64_t size = 16, used = 0;
    while (size < 2 * (a.n + b.n)) size *= 2;
    Scratch<Numbered> places(size, Numbered{0, -1});
    Vec<Numbered> table = places.vec();
    auto number_of = [&](int64_t key) {
        int64_t at = (key ^ (key >> 31)) & (size - 1);
        while (table[at].number >= 0 && table[at].key != key) at = (at + 1) & (size - 1);
        if (table[at].number < 0) table[at] = {key, used++};
        return static_cast<int32_t>(table[at].number);
    };
    for (int64_t k = 0; k < a.n; ++k) one[k] = number_of(a[k]);
    for (int64_t k = 0; k < b.n; ++k) other[k] = number_of(b[k]);
    return used;
}

// Levenshtein's distance, by the bit vectors of Myers (1999) in the blocks of Hyyrö (2003): 64 tokens of a against one of
// b at a time. `below[j]` is by how much the last row of the block above differs from its left neighbor: −1, 0 or 1.
int64_t levenshtein(Vec<const int32_t> a, Vec<const int32_t> b, int64_t distinct) {
    Scratch<uint64_t> masks(distinct, 0);
    Scratch<int8_t> steps(b.n, 1);
    Vec<uint64_t> where = masks.vec();
    Vec<int8_t> below = steps.vec();
    int64_t distance = a.n;
    for (int64_t start = 0; start < a.n; start += 64) {
        int64_t size = smallest(64, a.n - start);
        for (int64_t i = 0; i < size; ++i) where[a[start + i]] |= uint64_t(1) << i;
        uint64_t top = uint64_t(1) << (size - 1), plus = ~uint64_t(0), minus = 0;
        int64_t change = 0;
        for (int64_t j = 0; j < b.n; ++j) {
            uint64_t match = where[b[j]], falls = below[j] < 0, rises = below[j] > 0;
            uint64_t vertical = match | minus;
            match |= falls;
            uint64_t horizontal = (((match & plus) + plus) ^ plus) | match;
            uint64_t up = minus | ~(horizontal | plus), down = plus & horizontal;
            int step = ((up & top) != 0) - ((down & top) != 0);
            below[j] = static_cast<int8_t>(step);
            change += step;
            up = up << 1 | rises;
            down = down << 1 | falls;
            plus = down | ~(vertical | up);
            minus = up & vertical;
        }
        if (start + size == a.n) distance += change;
        for (int64_t i = 0; i < size; ++i) where[a[start + i]] = 0;
    }
    return distance;
}

// The larger of the two numbers of tokens that only one text has: the distance is never less.
int64_t least_distance(Vec<const int32_t> a, Vec<const int32_t> b, int64_t distinct) {
    Scratch<int64_t> more(distinct, 0);
    for (int32_t token : a) ++more[token];
    for (int32_t token : b) --more[token];
    int64_t only_a = 0, only_b = 0;
    for (int64_t k = 0; k < distinct; ++k) {
        only_a += largest(more[k], int64_t(0));
        only_b += largest(-more[k], int64_t(0));
    }
    return largest(only_a, only_b);
}

int64_t token_distance(Vec<const int64_t> a, Vec<const int64_t> b, int64_t cells) {
    require(a.n <= INT32_MAX && b.n <= INT32_MAX, "there are too many tokens");
    int64_t n = smallest(a.n, b.n), first = 0, last = 0;
    while (first < n && a[first] == b[first]) ++first;
    while (last < n - first && a[a.n - 1 - last] == b[b.n - 1 - last]) ++last;
    a = a.slice(first, a.n - last);
    b = b.slice(first, b.n - last);
    if (a.n == 0 || b.n == 0) return largest(a.n, b.n);
    Scratch<int32_t> one(a.n), other(b.n);
    int64_t distinct = number_tokens(a, b, one.vec(), other.vec());
    bool exact = a.n * b.n <= cells;
    return exact ? levenshtein(one.vec(), other.vec(), distinct) : least_distance(one.vec(), other.vec(), distinct);
}

const Family family("prose", {
    entry<add_phrase>("add_phrase", "table, text, kind", "Enter a phrase of a kind, case folded, into a table of phrases."),
    entry<read_text>("read_text", "text, folded, phrases, row, traits, tokens",
                     "The columns of a text, its traits and the keys of its tokens; returns how many tokens there are."),
    entry<token_distance>("token_distance", "before, after, cells",
                          "How many tokens were inserted, removed or replaced; beyond so many pairs a lower bound."),
});

}  // namespace
}  // namespace smidgen
