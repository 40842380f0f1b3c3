// Rows of features from records: categories, numbers brought to comparable size, entries in the order of their columns.
#include <algorithm>

#include "bind.hpp"
#include "rows.hpp"
#include "text.hpp"

namespace smidgen {
namespace {

// An id that stands for a value that is absent, and for one that is not known.
enum { NONE = -1, UNKNOWN = -2 };

// Each id is below n, or −1 where that is allowed.
bool ids_below(Vec<const int64_t> ids, int64_t n, int64_t least = 0) {
    bool fits = true;
    for (int64_t k = 0; k < ids.n; ++k) fits &= ids[k] >= least && ids[k] < n;
    return fits;
}

// --- categories: the strings of a column become ids ---------------------------------------------------------------

// What a table holds of each known string: its hash (−1: a free place), its id, where its letters begin and end.
enum { HASH, CATEGORY, BEGIN, END, PLACES };

// A column of strings as Arrow keeps it: all letters, where each string begins, and a bit for each that is present (no
// bits at all: every one is). `offset` is the place of the first string among the bits.
struct Strings {
    Bytes letters;
    Vec<const int64_t> starts;
    Bytes present;
    int64_t offset;
    FIELDS(letters, starts, present, offset)
    void check(int64_t n) const {
        require_starts(starts, letters.n);
        require(starts.n == n + 1, "strings and ids must have one length");
        bool fits = present.n == 0 || (offset >= 0 && offset <= 8 * present.n - n);
        require(fits, "strings.present has too few bits");
    }
    INLINE bool is_present(int64_t i) const {
        return present.n == 0 || (present[(offset + i) >> 3] >> ((offset + i) & 7) & 1);
    }
};

// FNV-1a, cut to 62 bits. The letters are compared too, so that equal hashes do no harm.
INLINE int64_t hash_of(Bytes letters) {
    uint64_t h = 1469598103;
    for (int64_t k = 0; k < letters.n; ++k) h = ((h ^ letters[k]) * 1099511627) & 0x3FFFFFFFFFFFFFFF;
    return static_cast<int64_t>(h ^ (h >> 29));
}

// The place of a string in a table, or the free place where it would go.
INLINE int64_t place_of(Mat<const int64_t> table, Bytes known, int64_t hash, Bytes letters) {
    int64_t mask = table.rows - 1, at = hash & mask;
    for (int64_t tries = 0; tries < table.rows; ++tries, at = (at + 1) & mask) {
        if (table(at, HASH) < 0) return at;
        if (table(at, HASH) != hash) continue;
        int64_t begin = table(at, BEGIN), end = table(at, END);
        require(begin >= 0 && begin <= end && end <= known.n, "the table names letters that are not there");
        if (end - begin == letters.n && std::equal(letters.begin(), letters.end(), known.data + begin)) return at;
    }
    refuse("the table is full");
}

void require_table(Mat<const int64_t> table) {
    require(is_power_of_two(table.rows) && table.cols == PLACES, "table needs a power of two of rows of four numbers");
}

int64_t find_categories(Mat<const int64_t> table, Bytes known, Strings strings, Vec<int64_t> ids) {
    require_table(table);
    strings.check(ids.n);
    int64_t unknown = 0;
    for (int64_t i = 0; i < ids.n; ++i) {
        if (!strings.is_present(i)) {
            ids[i] = NONE;
            continue;
        }
        Bytes letters = strings.letters.slice(strings.starts[i], strings.starts[i + 1]);
        int64_t at = place_of(table, known, hash_of(letters), letters);
        ids[i] = table(at, HASH) >= 0 ? table(at, CATEGORY) : int64_t(UNKNOWN);
        unknown += ids[i] == UNKNOWN;
    }
    return unknown;
}

void add_category(Mat<int64_t> table, Bytes known, int64_t first, int64_t last, int64_t found) {
    require_table(table);
    require(0 <= first && first <= last && last <= known.n, "first and last lie outside the known letters");
    Bytes letters = known.slice(first, last);
    int64_t hash = hash_of(letters), at = place_of(table, known, hash, letters);
    table(at, HASH) = hash;
    table(at, CATEGORY) = found;
    table(at, BEGIN) = first;
    table(at, END) = last;
}

// --- numbers brought to comparable size -----------------------------------------------------------------------------

// z is clipped to ± REACH, and values count as if they lay within so many standard deviations.
inline constexpr double REACH = 4.0;
// So many values between the lowest and the highest are needed before mean and spread are taken from them alone.
inline constexpr double ENOUGH = 8.0;
// The line of a number: values seen; mean and sum of squares of those not held back; the two that are.
enum { SEEN, MEAN, SQUARES, LOW, HIGH, WIDTH };

INLINE double clipped_to(double v, double low, double high) { return smallest(largest(v, low), high); }

struct Spread {
    double mean, deviation;
    INLINE double z(double v) const { return deviation > 0.0 ? (v - mean) / deviation : 0.0; }
};

// Mean and standard deviation; of all values while there are few, or while those between are all the same.
INLINE Spread spread_of(Vec<const double> line) {
    double n = line[SEEN], m = n - 2.0;
    if (n < 2.0) return {0.0, 0.0};
    if (m >= ENOUGH && line[SQUARES] > 0.0) return {line[MEAN], root(line[SQUARES] / m)};
    double mean = (m * line[MEAN] + line[LOW] + line[HIGH]) / n;
    double between = line[MEAN] - mean, low = line[LOW] - mean, high = line[HIGH] - mean;
    return {mean, root((line[SQUARES] + m * between * between + low * low + high * high) / n)};
}

INLINE int64_t standardize_all(Mat<const double> lines, Vec<const int64_t> slots, Vec<const double> raw, Vec<double> out) {
    int64_t clipped = 0;
    for (int64_t k = 0; k < slots.n; ++k) {
        double z = spread_of(lines[slots[k]]).z(raw[k]);
        clipped += __builtin_fabs(z) > REACH;
        out[k] = clipped_to(z, -REACH, REACH);
    }
    return clipped;
}

int64_t standardize(Mat<const double> lines, Vec<const int64_t> slots, Vec<const double> raw, Vec<double> out) {
    require(lines.cols == WIDTH, "lines needs five columns");
    require(slots.n == raw.n && slots.n == out.n, "slots, raw and out must have one length");
    require(ids_below(slots, lines.rows), "a slot has no line");
    return standardize_all(lines, slots, raw, out);
}

void standardize_column(Vec<const double> line, Vec<double> values) {
    require(line.n == WIDTH, "line needs five numbers");
    Spread spread = spread_of(line);
    for (int64_t k = 0; k < values.n; ++k) {
        if (values[k] == values[k]) values[k] = clipped_to(spread.z(values[k]), -REACH, REACH);
    }
}

// One more value of a number (Welford's recurrence).
INLINE void count_one(Vec<double> line, double v) {
    double n = line[SEEN], m = n - 2.0;
    line[SEEN] = n + 1.0;
    if (n < 2.0) {
        line[LOW] = n != 0.0 ? smallest(v, line[LOW]) : v;
        line[HIGH] = n != 0.0 ? largest(v, line[HIGH]) : v;
        return;
    }
    if (v < line[LOW]) {
        std::swap(v, line[LOW]);
    } else if (v > line[HIGH]) {
        std::swap(v, line[HIGH]);
    }
    if (m >= ENOUGH && line[SQUARES] > 0.0) {
        double reach = REACH * root(line[SQUARES] / m);
        v = clipped_to(v, line[MEAN] - reach, line[MEAN] + reach);
    }
    double step = v - line[MEAN];
    line[MEAN] += step / (m + 1.0);
    line[SQUARES] += step * (v - line[MEAN]);
}

void count_numbers(Mat<double> lines, Vec<const int64_t> slots, Vec<const double> raw) {
    require(lines.cols == WIDTH, "lines needs five columns");
    require(slots.n == raw.n, "slots and raw must have one length");
    for (int64_t k = 0; k < slots.n; ++k) {
        if (slots[k] >= 0 && slots[k] < lines.rows) count_one(lines[slots[k]], raw[k]);
    }
}

// --- entries of rows in the order of their columns ------------------------------------------------------------------

// So many entries are sorted by insertion.
inline constexpr int64_t FEW = 64;
// So many neighboring rows are laid together.
inline constexpr int64_t BLOCK = 256;

// Sort entries by column; those of one column keep their order.
INLINE void order_row(Vec<uint32_t> columns, Vec<double> values) {
    int64_t n = columns.n;
    if (n <= FEW) {
        for (int64_t i = 1; i < n; ++i) {
            uint32_t c = columns[i];
            double v = values[i];
            int64_t j = i;
            for (; j > 0 && columns[j - 1] > c; --j) {
                columns[j] = columns[j - 1];
                values[j] = values[j - 1];
            }
            columns[j] = c;
            values[j] = v;
        }
        return;
    }
    struct Pair {
        uint32_t column;
        double value;
    };
    if (std::is_sorted(columns.begin(), columns.end())) return;
    Scratch<Pair> pairs(n);
    for (int64_t k = 0; k < n; ++k) pairs[k] = {columns[k], values[k]};
    std::stable_sort(pairs.data(), pairs.data() + n, [](const Pair& a, const Pair& b) { return a.column < b.column; });
    for (int64_t k = 0; k < n; ++k) {
        columns[k] = pairs[k].column;
        values[k] = pairs[k].value;
    }
}

// Sort entries by column and add up those of one column; returns how many are left.
INLINE int64_t sort_row(Vec<uint32_t> columns, Vec<double> values) {
    order_row(columns, values);
    int64_t kept = 0;
    for (int64_t i = 1; i < columns.n; ++i) {
        if (columns[i] == columns[kept]) {
            values[kept] += values[i];
        } else {
            ++kept;
            columns[kept] = columns[i];
            values[kept] = values[i];
        }
    }
    return columns.n ? kept + 1 : 0;
}

// These entries by column, the first of equals first: rows that are laid in this order are sorted. `places` has one number
// more than there are columns. Where entries are few they stay as they are.
Vec<const int64_t> by_column(Indices columns, Vec<const int64_t> entries, Vec<int32_t> places, Vec<int64_t> order) {
    if (2 * entries.n < places.n || places.n == 0) return entries;
    clear(places);
    for (int64_t k : entries) ++places[int64_t(columns[k]) + 1];
    for (int64_t c = 0; c < places.n - 1; ++c) places[c + 1] += places[c];
    for (int64_t k : entries) order[places[columns[k]]++] = k;
    return order.slice(0, entries.n);
}

int64_t lay_rows(Vec<const int64_t> rows, Indices columns, Vec<const double> values, Vec<int64_t> starts,
                 Vec<uint32_t> laid, Vec<double> worth) {
    int64_t m = rows.n, n = starts.n - 1, top = 0;
    require(n >= 0, "starts needs one place more than there are rows");
    require(columns.n == m && values.n == m && laid.n == m && worth.n == m, "all entries must have one length");
    require(m <= INT32_MAX, "there are too many entries");
    require(ids_below(rows, n), "an entry has no row");
    clear(starts);
    for (int64_t k = 0; k < m; ++k) {
        ++starts[rows[k] + 1];
        top = largest(top, int64_t(columns[k]) + 1);
    }
    for (int64_t i = 0; i < n; ++i) starts[i + 1] += starts[i];
    // entries in the order of blocks of rows: as near to each other in memory as they are used
    int64_t blocks = (n + BLOCK - 1) / BLOCK;
    Scratch<int64_t> of_rows(largest(n, blocks)), of_blocks(m), of_columns(m);
    Vec<int64_t> next = of_rows.vec(), near = of_blocks.vec(), order = of_columns.vec();
    for (int64_t b = 0; b < blocks; ++b) next[b] = starts[b * BLOCK];
    for (int64_t k = 0; k < m; ++k) near[next[rows[k] / BLOCK]++] = k;
    for (int64_t i = 0; i < n; ++i) next[i] = starts[i];
    Scratch<int32_t> places(2 * m >= top + 1 ? top + 1 : 0);    // else no block has entries enough
    for (int64_t b = 0; b < n; b += BLOCK) {
        Vec<const int64_t> entries = near.slice(starts[b], starts[smallest(b + BLOCK, n)]);
        for (int64_t k : by_column(columns, entries, places.vec(), order)) {
            int64_t at = next[rows[k]]++;
            laid[at] = columns[k];
            worth[at] = values[k];
        }
    }
    int64_t filled = 0;
    for (int64_t i = 0; i < n; ++i) {
        int64_t first = starts[i], last = starts[i + 1];
        int64_t count = sort_row(laid.slice(first, last), worth.slice(first, last));
        starts[i] = filled;
        for (int64_t k = first; k < first + count; ++k, ++filled) {
            laid[filled] = laid[k];
            worth[filled] = worth[k];
        }
    }
    starts[n] = filled;
    return filled;
}

// --- one record, all of whose names are known ------------------------------------------------------------------------

// The numbers of a vectorizer: a line of statistics for each slot, and its id.
struct Numbers {
    Mat<const double> lines;
    Vec<const int64_t> ids;
    FIELDS(lines, ids)
};

// The terms of a text, each with 1 + ln(how often) in its place of `weights`; returns how many, −1 if one is not known.
int64_t write_terms(Bytes letters, const text::Known& known, Vec<int64_t> terms, Vec<double> weights) {
    text::Room room(letters.n);
    Scratch<int64_t> counts(smallest(terms.n, letters.n));
    bool whole = true;
    int64_t found = text::each_term(
        letters, 0, letters.n, room,
        [&](int64_t at, int64_t key, int64_t, int64_t) {
            require(at < terms.n && at < weights.n, "terms or values has too few places");
            terms[at] = text::id_of(known, key);
            whole &= terms[at] >= 0;
            counts[at] = 1;
        },
        [&](int64_t at) { ++counts[at]; });
    if (!whole) return -1;
    for (int64_t k = 0; k < found; ++k) weights[k] = text::weight_of(counts[k]);
    return found;
}

// What a vectorizer knows: the statistics and ids of numbers, in how many rows each term stood, the column of each id.
struct Memory {
    Numbers numbers;
    Vec<const double> df;
    Indices columns;
    FIELDS(numbers, df, columns)
};

// The row of one record: ids of categories, slots of numbers, and their values as they came. The terms are those of the
// text, by the known terms of its field; an empty text has none, and then they are given, each with its weight in its place
// among the values. `texts` rows were learned that had the text. Returns the number of columns, of numbers that were
// clipped, and of terms; −1 terms if the text has one that is not known.
std::tuple<int64_t, int64_t, int64_t> lay_record(Listed<int64_t> categories, Listed<int64_t> listed_slots,
                                                 Listed<double> listed_raw, bool scale, Ascii text, text::Known known,
                                                 Vec<int64_t> terms, double texts, Memory memory,
                                                 Vec<uint32_t> columns, Vec<double> values) {
    const auto& [numbers, df, column_of] = memory;
    Bytes letters = text.letters;
    int64_t n = categories.n, last = n + listed_slots.n, found = terms.n, clipped = 0;
    require(listed_raw.n == listed_slots.n, "slots and raw must have one length");
    require(numbers.lines.cols == WIDTH && numbers.ids.n == numbers.lines.rows, "numbers needs lines of five, and ids");
    require(columns.n == values.n && columns.n >= last, "columns and values have too few places");
    known.check();
    Scratch<int64_t> slots_here(listed_slots.n);
    Scratch<double> raw_here(listed_slots.n);
    for (int64_t k = 0; k < listed_slots.n; ++k) {
        slots_here[k] = listed_slots[k];
        raw_here[k] = listed_raw[k];
    }
    Vec<const int64_t> slots = slots_here.vec();
    Vec<const double> raw = raw_here.vec();
    require(ids_below(slots, numbers.ids.n), "a slot has no line");
    if (letters.n > 0) {
        found = write_terms(letters, known, terms, values.from(last));
        if (found < 0) return {0, 0, -1};
    }
    require(found <= columns.n - last, "columns and values have too few places");
    require(ids_below(terms.slice(0, found), column_of.n), "a term has no column");
    for (int64_t k = 0; k < n; ++k) {
        int64_t id = categories[k];
        require(id >= 0 && id < column_of.n, "a category has no column");
        columns[k] = column_of[id];
        values[k] = 1.0;
    }
    for (int64_t k = 0; k < slots.n; ++k) {
        int64_t id = numbers.ids[slots[k]];
        require(id >= 0 && id < column_of.n, "a number has no column");
        columns[n + k] = column_of[id];
    }
    Vec<double> out = values.slice(n, last);
    if (scale) {
        clipped = standardize_all(numbers.lines, slots, raw, out);
    } else {
        copy(out, raw);
    }
    for (int64_t k = 0; k < found; ++k) columns[last + k] = column_of[terms[k]];
    if (found > 0) text::weigh(df, terms.slice(0, found), texts, values.slice(last, last + found));
    return {sort_row(columns.slice(0, last + found), values.slice(0, last + found)), clipped, found};
}

// --- many records with the same fields, all of whose names are known -------------------------------------------------

// Features that are 1: ids by field and row (−1: none), ids that every row has, ids for numbers that are absent (−1: none).
struct Ones {
    Mat<const int64_t> some;
    Vec<const int64_t> every, missing;
    FIELDS(some, every, missing)
};
// Numbers by field and row (NaN: none), in the order of their columns; their columns.
struct NumberColumns {
    Mat<const double> values;
    Indices columns;
    FIELDS(values, columns)
};
// The terms of one text, those of row i from starts[i] on; no starts: no text.
struct WordColumns {
    Vec<const int64_t> starts, ids;
    Vec<const double> values;
    FIELDS(starts, ids, values)
};

// Entries of rows as they are laid: those of one column are added up.
struct Laid {
    Vec<int32_t> columns;
    Vec<double> values;
    int64_t at, first;
    INLINE void push(uint32_t column, double value) {
        if (at > first && columns[at - 1] == static_cast<int32_t>(column)) {
            values[at - 1] += value;
        } else {
            columns[at] = static_cast<int32_t>(column);
            values[at++] = value;
        }
    }
};

// Rows sorted by column; of one column, what is 1 comes before numbers, and those before words: so the sums of a shared
// column are those that one record would have. Returns how many entries there are.
int64_t lay_sheet(Ones ones, NumberColumns numbers, WordColumns words, Indices columns, Vec<int64_t> starts,
                  Vec<int32_t> laid, Vec<double> worth) {
    constexpr uint32_t ENDING = UINT32_MAX;
    int64_t n = starts.n - 1, fixed = ones.every.n, said = ones.some.rows, m = numbers.columns.n;
    bool texts = words.starts.n > 0;
    require(n >= 0 && ones.some.cols == n && numbers.values.cols == n, "all columns must have one row per record");
    require(ones.missing.n == m && numbers.values.rows == m, "numbers and missing must have one length");
    require(words.ids.n == words.values.n, "the ids and values of words must have one length");
    require(!texts || words.starts.n == n + 1, "words must have one row per record");
    if (texts) require_starts(words.starts, words.ids.n);
    require(laid.n == worth.n && laid.n >= words.ids.n && (n == 0 || (laid.n - words.ids.n) / n >= fixed + said + m),
            "laid and worth have too few places");
    require(ids_below(ones.some.flat(), columns.n, NONE) && ids_below(ones.every, columns.n) &&
                ids_below(ones.missing, columns.n, NONE) && ids_below(words.ids, columns.n),
            "an id has no column");
    int64_t widest = 0;
    for (int64_t i = 0; texts && i < n; ++i) widest = largest(widest, words.starts[i + 1] - words.starts[i]);
    Scratch<uint32_t> of_ones(fixed + said + m), of_words(widest);
    Scratch<double> of_weights(widest);
    Vec<uint32_t> here = of_ones.vec(), word = of_words.vec();
    Vec<double> weight = of_weights.vec();
    Laid out{laid, worth, 0, 0};
    starts[0] = 0;
    for (int64_t i = 0; i < n; ++i) {
        int64_t count = 0, w = 0;
        auto insert = [&](int64_t id) {
            uint32_t column = columns[id];
            int64_t j = count++;
            for (; j > 0 && here[j - 1] > column; --j) here[j] = here[j - 1];
            here[j] = column;
        };
        for (int64_t id : ones.every) insert(id);
        for (int64_t k = 0; k < said; ++k) {
            if (ones.some(k, i) != NONE) insert(ones.some(k, i));
        }
        for (int64_t k = 0; k < m; ++k) {
            double v = numbers.values(k, i);
            if (v != v && ones.missing[k] != NONE) insert(ones.missing[k]);
        }
        if (texts) {
            for (int64_t k = words.starts[i]; k < words.starts[i + 1]; ++k, ++w) {
                word[w] = columns[words.ids[k]];
                weight[w] = words.values[k];
            }
            order_row(word.slice(0, w), weight.slice(0, w));
        }
        out.first = out.at;
        for (int64_t a = 0, b = 0, c = 0;;) {
            while (b < m && numbers.values(b, i) != numbers.values(b, i)) ++b;
            uint32_t one = a < count ? here[a] : ENDING;
            uint32_t number = b < m ? numbers.columns[b] : ENDING;
            uint32_t term = c < w ? word[c] : ENDING;
            if (one <= number && one <= term) {
                if (a == count) break;
                out.push(one, 1.0);
                ++a;
            } else if (number <= term) {
                out.push(number, numbers.values(b++, i));
            } else {
                out.push(term, weight[c++]);
            }
        }
        starts[i + 1] = out.at;
    }
    return out.at;
}

// --- vectors ------------------------------------------------------------------------------------------------------------

// The numbers of a list as single precision: −1, or the place of the first entry that is no number, or not within ±most.
int64_t take_vector(Listed<double> values, double most, Vec<float> out) {
    require(values.n == out.n, "out needs one place per number");
    for (int64_t i = 0; i < out.n; ++i) {
        PyObject* item = PyList_GET_ITEM(values.list, i);
        double v;
        if (__builtin_expect(PyFloat_Check(item), 1)) {
            v = PyFloat_AS_DOUBLE(item);
        } else if (PyLong_CheckExact(item)) {
            v = PyLong_AsDouble(item);
            if (PyErr_Occurred()) {
                PyErr_Clear();
                return i;
            }
        } else {
            return i;
        }
        if (!(v >= -most && v <= most)) return i;
        out[i] = float(v);
    }
    return -1;
}

// A vector of unit length, each line of `along` times it; without lines the unit vector itself. Zeros stay zeros.
void lay_vector(Vec<const float> given, Mat<const double> along, Vec<double> out) {
    require(along.rows == 0 ? out.n == given.n : along.cols == given.n && out.n == along.rows, "out does not fit");
    Scratch<double, 512> unit(given.n);
    copy(unit.vec(), given);
    double over = over_length(dot(unit.vec(), unit.vec()));
    for (int64_t i = 0; i < given.n; ++i) unit[i] *= over;
    if (along.rows == 0) copy(out, unit.vec());
    for (int64_t k = 0; k < along.rows; ++k) out[k] = dot(along[k], unit.vec());
}

// The cosine of two vectors; 0 where one of them is zero.
double vector_cosine(Vec<const float> a, Vec<const float> b) {
    require(a.n == b.n, "the vectors must have one length");
    double squares = dot(a, a) * dot(b, b);
    return squares > 0.0 ? dot(a, b) / root(squares) : 0.0;
}

const Family family("records", {
    entry<take_vector>("take_vector", "values, most, out",
                       "Numbers of a list in single precision; −1, or the place of the first that is none."),
    entry<lay_vector>("lay_vector", "given, along, out", "A vector at unit length, projected if there are directions."),
    entry<vector_cosine>("vector_cosine", "a, b", "The cosine of two vectors; 0 where one of them is zero."),
    entry<find_categories>("find_categories", "table, known, strings, ids",
                           "The ids of strings by a table (−1: absent, −2: not known); returns how many are not known."),
    entry<add_category>("add_category", "table, known, first, last, found", "Enter the string known[first:last]."),
    entry<standardize>("standardize", "lines, slots, raw, out",
                       "out = (v − mean)/sd of each number, clipped; returns how many were clipped."),
    entry<standardize_column>("standardize_column", "line, values", "The same for values of one number; NaN stays."),
    entry<count_numbers>("count_numbers", "lines, slots, raw", "Count values; slots without a line are skipped."),
    entry<lay_rows>("lay_rows", "rows, columns, values, starts, laid, worth",
                    "Entries in any order as sorted rows; those of one column are added up. Returns how many are left."),
    entry<lay_record>("lay_record",
                      "categories, slots, raw, scale, text, known, terms, texts, memory, columns, values",
                      "The row of one record; returns how many columns, clipped numbers and terms (−1: one is new)."),
    entry<lay_sheet>("lay_sheet", "ones, numbers, words, columns, starts, laid, worth",
                     "The rows of records with the same fields; returns how many entries there are."),
});

}  // namespace
}  // namespace smidgen
