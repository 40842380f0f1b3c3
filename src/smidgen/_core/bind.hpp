// Entry points for Python, made from the signatures of functions.
//
//     static const Family family("label", {
//         entry<choose<double>, choose<float>>("banditron_choose", "W, idx, val, gamma", "ŷ and ỹ of one decision."),
//     });
//
// Each argument is checked: its type, dtype, dimensions, byte order, contiguity, alignment, and that it may be written
// to where the function writes. Nothing is copied or converted. Wrong types are a TypeError, all else a ValueError.
// Several functions under one name are chosen from by the dtypes of their arguments.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL smidgen_core_arrays
#ifndef SMIDGEN_MODULE
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

#include <initializer_list>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "generator.hpp"

namespace smidgen {

// Becomes a TypeError in Python.
struct WrongType : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Entry {
    const char *name, *arguments, *doc;
    PyObject* (*call)(PyObject*, PyObject* const*, Py_ssize_t);
    void (*const* kinds)(std::string&);    // of each function: "float64[2]=;int;float>int", see `kind`; up to nullptr
    const Entry** place;    // where the wrapper looks for its entry
};

// Where an argument stands: which of an entry's, and which part of it if it is a tuple.
struct Where {
    const char* entry;
    const char* names;
    int index;
    const Where* outer = nullptr;
};
// What is wrong with an argument (bind.cpp).
[[noreturn]] void wrong(const Where& where, const char* what);
[[noreturn]] void wrong_type(const Where& where, PyObject* given, const char* wanted);
[[noreturn]] void wrong_array(const Where& where, PyObject* given, const char* dtype, int dimensions, int flags);
[[noreturn]] void wrong_size(const Where& where, size_t wanted, Py_ssize_t given);
// The bits of a numpy.random.Generator, which live as long as it does (bind.cpp).
const bitgen_t* generator_bits(PyObject* given, const Where& where);
// The exception in flight as one of Python's (bind.cpp).
PyObject* raise();

template <class T>
struct Element;
#define ELEMENT(TYPE, NUMBER, NAME)                  \
    template <>                                      \
    struct Element<TYPE> {                           \
        static constexpr int number = NUMBER;        \
        static constexpr const char* name = NAME;    \
    };
ELEMENT(double, NPY_FLOAT64, "float64")
ELEMENT(float, NPY_FLOAT32, "float32")
ELEMENT(int64_t, NPY_INT64, "int64")
ELEMENT(int32_t, NPY_INT32, "int32")
ELEMENT(uint64_t, NPY_UINT64, "uint64")
ELEMENT(uint32_t, NPY_UINT32, "uint32")
ELEMENT(uint8_t, NPY_UINT8, "uint8")
ELEMENT(Flag, NPY_BOOL, "bool_")
#undef ELEMENT

template <class T>
INLINE bool has_dtype(PyArrayObject* array) {
    PyArray_Descr* descr = PyArray_DESCR(array);
    constexpr int number = Element<plain<T>>::number;
    if (__builtin_expect(descr->type_num == number, 1)) return PyArray_ISNBO(descr->byteorder);
    return PyArray_EquivTypenums(descr->type_num, number) && PyArray_ISNBO(descr->byteorder);
}

// Checks one array; gives its data.
template <class T, int DIMENSIONS>
inline T* take_array(PyObject* given, const Where& where) {
    constexpr int wanted = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | (std::is_const_v<T> ? 0 : NPY_ARRAY_WRITEABLE);
    auto* array = reinterpret_cast<PyArrayObject*>(given);
    if (__builtin_expect(!PyArray_Check(given) || !has_dtype<T>(array) || PyArray_NDIM(array) != DIMENSIONS ||
                             (PyArray_FLAGS(array) & wanted) != wanted,
                         0)) {
        wrong_array(where, given, Element<plain<T>>::name, DIMENSIONS, wanted);
    }
    return static_cast<T*>(PyArray_DATA(array));
}

template <class T>
bool array_fits(PyObject* given) {
    return PyArray_Check(given) && has_dtype<T>(reinterpret_cast<PyArrayObject*>(given));
}
// How the table says what an argument is: "float64[2]" an array of two dimensions, "float64[2]=" one that is written to,
// "(int,float64[1])" a tuple; "float*" a list; "float", "int", "uint", "bool", "str", "Generator". The stubs and the
// fuzzer are made from it.
// Each kind adds its text to a string, out of line: there are thousands, and each module makes them once.
void add_kind(std::string& text, const char* kind);    // bind.cpp
void add_array_kind(std::string& text, const char* dtype, int dimensions, bool written);
template <class T>
void array_kind(std::string& text, int dimensions) {
    add_array_kind(text, Element<plain<T>>::name, dimensions, !std::is_const_v<T>);
}
template <class... Parts>
void add_kinds(std::string& text, const char* between);    // of all parts

// What an argument of type T is made of. `fits` decides between functions of one name; `take` checks everything.
template <class T, class = void>
struct Argument;

template <class T>
struct Argument<Vec<T>> {
    static bool fits(PyObject* given) { return array_fits<T>(given); }
    static inline Vec<T> take(PyObject* given, const Where& where) {
        T* data = take_array<T, 1>(given, where);
        return {data, PyArray_DIMS(reinterpret_cast<PyArrayObject*>(given))[0]};
    }
    static void kind(std::string& text) { array_kind<T>(text, 1); }
};
template <class T>
struct Argument<Mat<T>> {
    static bool fits(PyObject* given) { return array_fits<T>(given); }
    static inline Mat<T> take(PyObject* given, const Where& where) {
        T* data = take_array<T, 2>(given, where);
        const npy_intp* lengths = PyArray_DIMS(reinterpret_cast<PyArrayObject*>(given));
        return {data, lengths[0], lengths[1]};
    }
    static void kind(std::string& text) { array_kind<T>(text, 2); }
};
template <class T>
struct Argument<Cube<T>> {
    static bool fits(PyObject* given) { return array_fits<T>(given); }
    static inline Cube<T> take(PyObject* given, const Where& where) {
        T* data = take_array<T, 3>(given, where);
        const npy_intp* lengths = PyArray_DIMS(reinterpret_cast<PyArrayObject*>(given));
        return {data, lengths[0], lengths[1], lengths[2]};
    }
    static void kind(std::string& text) { array_kind<T>(text, 3); }
};

// Numbers: Python's and numpy's own only, as the methods of others could change the arrays while they are read.
template <>
struct Argument<double> {
    static bool fits(PyObject*) { return true; }
    static inline double take(PyObject* given, const Where& where) {
        if (PyFloat_Check(given)) return PyFloat_AS_DOUBLE(given);
        return slowly(given, where);
    }
    static __attribute__((noinline)) double slowly(PyObject* given, const Where& where) {
        if (!PyLong_Check(given) && !PyArray_IsScalar(given, Floating) && !PyArray_IsScalar(given, Integer)) {
            wrong_type(where, given, "a number");
        }
        double value = PyFloat_AsDouble(given);
        if (value == -1.0 && PyErr_Occurred()) {
            PyErr_Clear();
            wrong(where, "is too large for a float");
        }
        return value;
    }
    static void kind(std::string& text) { add_kind(text, "float"); }
};
template <class T>
struct Argument<T, std::enable_if_t<std::is_same_v<T, int64_t> || std::is_same_v<T, uint64_t>>> {
    static bool fits(PyObject*) { return true; }
    static inline T take(PyObject* given, const Where& where) {
        if (__builtin_expect(PyLong_Check(given), 1)) return whole(given, where);
        if (!PyArray_IsScalar(given, Integer)) wrong_type(where, given, "a whole number");
        PyObject* number = PyNumber_Index(given);
        if (!number) {
            PyErr_Clear();
            wrong(where, "is no whole number");
        }
        struct Release {
            PyObject* number;
            ~Release() { Py_DECREF(number); }
        } release{number};
        return whole(number, where);
    }
    static inline T whole(PyObject* number, const Where& where) {
        T value;
        if constexpr (std::is_signed_v<T>) {
            value = PyLong_AsLongLong(number);
        } else {
            value = PyLong_AsUnsignedLongLong(number);
        }
        if (__builtin_expect(value == static_cast<T>(-1), 0) && PyErr_Occurred()) {
            PyErr_Clear();
            wrong(where, std::is_signed_v<T> ? "does not fit into 64 bits" : "must be at least 0 and fit into 64 bits");
        }
        return value;
    }
    static void kind(std::string& text) { add_kind(text, std::is_signed_v<T> ? "int" : "uint"); }
};
template <>
struct Argument<bool> {
    static bool fits(PyObject*) { return true; }
    static inline bool take(PyObject* given, const Where& where) {
        if (given == Py_True) return true;
        if (given == Py_False) return false;
        if (!PyArray_IsScalar(given, Bool)) wrong_type(where, given, "True or False");
        return PyArrayScalar_VAL(given, Bool) != 0;
    }
    static void kind(std::string& text) { add_kind(text, "bool"); }
};

// A numpy.random.Generator.
template <>
struct Argument<Generator> {
    static bool fits(PyObject*) { return true; }
    static inline Generator take(PyObject* given, const Where& where) { return {generator_bits(given, where)}; }
    static void kind(std::string& text) { add_kind(text, "Generator"); }
};

// A list of Python's own ints or floats, for calls where making an array would take longer than the work. It is read
// while no Python code can run, which could change it.
template <class T>
struct Listed {
    PyObject* list;
    int64_t n;
    INLINE T operator[](int64_t i) const {
        within(i, n);
        PyObject* item = PyList_GET_ITEM(list, i);
        if constexpr (std::is_same_v<T, double>) {
            if (__builtin_expect(PyFloat_Check(item), 1)) return PyFloat_AS_DOUBLE(item);
        }
        if (__builtin_expect(!PyLong_Check(item), 0)) refuse("a list holds something that is no number");
        return Argument<T>::take(item, Where{"list", "number", 0});
    }
};
template <class T>
struct Argument<Listed<T>> {
    static bool fits(PyObject* given) { return PyList_Check(given); }
    static inline Listed<T> take(PyObject* given, const Where& where) {
        if (__builtin_expect(!PyList_Check(given), 0)) wrong_type(where, given, "a list");
        return {given, PyList_GET_SIZE(given)};
    }
    static void kind(std::string& text) {
        Argument<T>::kind(text);
        add_kind(text, "*");
    }
};

// A string of ASCII characters, where it is.
struct Ascii {
    Vec<const uint8_t> letters;
};
template <>
struct Argument<Ascii> {
    static bool fits(PyObject* given) { return PyUnicode_Check(given); }
    static inline Ascii take(PyObject* given, const Where& where) {
        if (__builtin_expect(!PyUnicode_Check(given), 0)) wrong_type(where, given, "a string");
        if (__builtin_expect(!PyUnicode_IS_COMPACT_ASCII(given), 0)) wrong(where, "must be ASCII");
        return {{static_cast<const uint8_t*>(PyUnicode_DATA(given)), PyUnicode_GET_LENGTH(given)}};
    }
    static void kind(std::string& text) { add_kind(text, "str"); }
};

// A tuple, plain or named, as a std::tuple.
template <class... Parts>
struct Argument<std::tuple<Parts...>> {
    template <size_t... I>
    static bool fit(PyObject* given, std::index_sequence<I...>) {
        return (Argument<Parts>::fits(PyTuple_GET_ITEM(given, I)) && ...);
    }
    static bool fits(PyObject* given) {
        return PyTuple_Check(given) && PyTuple_GET_SIZE(given) == sizeof...(Parts) &&
               fit(given, std::index_sequence_for<Parts...>{});
    }
    static inline void check(PyObject* given, const Where& where) {
        if (__builtin_expect(!PyTuple_Check(given), 0)) wrong_type(where, given, "a tuple");
        if (__builtin_expect(PyTuple_GET_SIZE(given) != sizeof...(Parts), 0)) {
            wrong_size(where, sizeof...(Parts), PyTuple_GET_SIZE(given));
        }
    }
    template <size_t... I>
    static inline std::tuple<Parts...> parts(PyObject* given, const Where& where, std::index_sequence<I...>) {
        return std::tuple<Parts...>{
            Argument<Parts>::take(PyTuple_GET_ITEM(given, I), Where{nullptr, "", static_cast<int>(I), &where})...};
    }
    static inline std::tuple<Parts...> take(PyObject* given, const Where& where) {
        check(given, where);
        return parts(given, where, std::index_sequence_for<Parts...>{});
    }
    static void kind(std::string& text) {
        add_kind(text, "(");
        add_kinds<Parts...>(text, ",");
        add_kind(text, ")");
    }
};

// A struct of parts (FIELDS in arrays.hpp), from a tuple in the same order.
template <class T>
struct Argument<T, std::void_t<decltype(T::names)>> {
    using Parts = decltype(std::declval<const T&>().parts());
    static bool fits(PyObject* given) { return Argument<Parts>::fits(given); }
    template <class... P, size_t... I>
    static inline T make(PyObject* given, const Where& where, std::tuple<P...>*, std::index_sequence<I...>) {
        return T{Argument<P>::take(PyTuple_GET_ITEM(given, I), Where{nullptr, T::names, static_cast<int>(I), &where})...};
    }
    static inline T take(PyObject* given, const Where& where) {
        Argument<Parts>::check(given, where);
        return make(given, where, static_cast<Parts*>(nullptr), std::make_index_sequence<std::tuple_size_v<Parts>>{});
    }
    static void kind(std::string& text) { Argument<Parts>::kind(text); }
};

template <class... Parts>
__attribute__((cold)) void add_kinds(std::string& text, const char* between) {
    static constexpr void (*kinds[])(std::string&) = {Argument<Parts>::kind...};
    for (size_t i = 0; i < sizeof...(Parts); ++i) {
        if (i) add_kind(text, between);
        kinds[i](text);
    }
}

// What a function returns.
INLINE PyObject* give(double value) { return PyFloat_FromDouble(value); }
INLINE PyObject* give(int64_t value) { return PyLong_FromLongLong(value); }
INLINE PyObject* give(uint64_t value) { return PyLong_FromUnsignedLongLong(value); }
INLINE PyObject* give(bool value) { return PyBool_FromLong(value); }
template <class... Parts>
PyObject* give(const std::tuple<Parts...>& values) {
    PyObject* made = PyTuple_New(sizeof...(Parts));
    if (!made) return nullptr;
    bool whole = true;
    Py_ssize_t at = 0;
    auto set = [&](PyObject* part) {
        whole = whole && part;
        PyTuple_SET_ITEM(made, at++, part);
    };
    std::apply([&](const auto&... each) { (set(give(each)), ...); }, values);
    if (!whole) {
        Py_DECREF(made);
        return nullptr;
    }
    return made;
}
template <class R>
struct Result {
    static void kind(std::string& text) { Argument<R>::kind(text); }
};
template <>
struct Result<void> {
    static void kind(std::string& text) { add_kind(text, "None"); }
};

template <auto function>
struct Function;
template <class R, class... Arguments, R (*function)(Arguments...)>
struct Function<function> {
    static constexpr size_t count = sizeof...(Arguments);
    template <size_t... I>
    static bool fit(PyObject* const* given, std::index_sequence<I...>) {
        return (Argument<Arguments>::fits(given[I]) && ...);
    }
    static bool fits(PyObject* const* given) { return fit(given, std::index_sequence_for<Arguments...>{}); }
    template <size_t... I>
    static inline PyObject* run(const Entry& entry, PyObject* const* given, std::index_sequence<I...>) {
        std::tuple<Arguments...> taken{
            Argument<Arguments>::take(given[I], Where{entry.name, entry.arguments, static_cast<int>(I)})...};
        if constexpr (std::is_void_v<R>) {
            function(std::get<I>(taken)...);
            return Py_NewRef(Py_None);
        } else {
            return give(function(std::get<I>(taken)...));
        }
    }
    static inline PyObject* run(const Entry& entry, PyObject* const* given) {
        return run(entry, given, std::index_sequence_for<Arguments...>{});
    }
    static void kinds(std::string& text) {
        add_kinds<Arguments...>(text, ";");
        add_kind(text, ">");
        Result<R>::kind(text);
    }
};

template <auto... functions>
struct Overloads {
    static inline const Entry* entry = nullptr;

    template <auto first, auto... others>
    static inline PyObject* choose(PyObject* const* given) {
        if constexpr (sizeof...(others) == 0) {
            return Function<first>::run(*entry, given);
        } else {
            return Function<first>::fits(given) ? Function<first>::run(*entry, given) : choose<others...>(given);
        }
    }
    template <auto first, auto...>
    static constexpr size_t arity() {
        return Function<first>::count;
    }
    static PyObject* call(PyObject*, PyObject* const* given, Py_ssize_t n) {
        static_assert(((Function<functions>::count == arity<functions...>()) && ...));
        if (__builtin_expect(n != static_cast<Py_ssize_t>(arity<functions...>()), 0)) {
            PyErr_Format(PyExc_TypeError, "%s() takes %zu arguments (%s), not %zd", entry->name, arity<functions...>(),
                         entry->arguments, n);
            return nullptr;
        }
        try {
            return choose<functions...>(given);
        } catch (...) {
            return raise();
        }
    }
    static constexpr void (*kinds[])(std::string&) = {Function<functions>::kinds..., nullptr};
};

template <auto... functions>
Entry entry(const char* name, const char* arguments, const char* doc) {
    using Made = Overloads<functions...>;
    return {name, arguments, doc, Made::call, Made::kinds, &Made::entry};
}

// The entry points of one module of Python: smidgen._core.<name>. A family is a global object of its file.
class Family {
  public:
    Family(const char* name, std::initializer_list<Entry> entries) : name(name), entries(entries) {
        for (const Entry& each : this->entries) *each.place = &each;
        all().push_back(this);
    }
    static std::vector<const Family*>& all() {
        static std::vector<const Family*> families;
        return families;
    }
    const char* name;
    const std::vector<Entry> entries;
};

}  // namespace smidgen
