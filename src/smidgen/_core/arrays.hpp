// Views of arrays: pointer and lengths. They own nothing, and are passed by value.
//
// `Vec<double>` may be written to, `Vec<const double>` may not; the bindings (bind.hpp) check numpy arrays accordingly.
// All views are contiguous in C order. With SMIDGEN_CHECKED (the build with sanitizers) every access is checked.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>

#define INLINE inline __attribute__((always_inline))

// The parts of a struct that Python gives as a tuple, plain or named, in this order; inside the struct:
//     struct Shown { Vec<int64_t> actions, greedy; FIELDS(actions, greedy) };
#define FIELDS(...)                                       \
    static constexpr const char* names = #__VA_ARGS__;    \
    auto parts() const { return std::make_tuple(__VA_ARGS__); }

namespace smidgen {

using std::int32_t;
using std::int64_t;
using std::size_t;
using std::uint32_t;
using std::uint64_t;
using std::uint8_t;

inline constexpr double INF = std::numeric_limits<double>::infinity();
inline constexpr double NaN = std::numeric_limits<double>::quiet_NaN();

// Becomes a ValueError in Python.
struct Refused : std::runtime_error {
    using std::runtime_error::runtime_error;
};

[[noreturn]] __attribute__((noinline, cold)) inline void refuse(const char* message) { throw Refused(message); }

// The check that an entry point makes of what its arguments have to do with each other.
INLINE void require(bool holds, const char* message) {
    if (__builtin_expect(!holds, 0)) refuse(message);
}

#ifdef SMIDGEN_CHECKED
[[noreturn]] __attribute__((noinline, cold)) inline void out_of_bounds() { __builtin_trap(); }
INLINE void within(int64_t i, int64_t n) {
    if (i < 0 || i >= n) out_of_bounds();
}
INLINE void part_within(int64_t first, int64_t last, int64_t n) {
    if (first < 0 || last < first || last > n) out_of_bounds();
}
#else
INLINE void within(int64_t, int64_t) {}
INLINE void part_within(int64_t, int64_t, int64_t) {}
#endif

// A truth value in an array: a byte of numpy's, which need not be 0 or 1 (a C++ bool must be).
struct Flag {
    uint8_t byte;
    INLINE operator bool() const { return byte != 0; }
    INLINE Flag& operator=(bool value) {
        byte = value ? 1 : 0;
        return *this;
    }
};

template <class T>
struct Vec {
    T* data;
    int64_t n;
    INLINE T& operator[](int64_t i) const {
        within(i, n);
        return data[i];
    }
    // The elements first … last − 1, as in Python's a[first:last] with 0 <= first <= last <= n.
    INLINE Vec slice(int64_t first, int64_t last) const {
        part_within(first, last, n);
        return {data + first, last - first};
    }
    INLINE Vec from(int64_t first) const { return slice(first, n); }
    INLINE T* begin() const { return data; }
    INLINE T* end() const { return data + n; }
    template <class U = T, class = std::enable_if_t<!std::is_const_v<U>>>
    INLINE operator Vec<const U>() const {
        return {data, n};
    }
};

template <class T>
struct Mat {
    T* data;
    int64_t rows, cols;
    INLINE T& operator()(int64_t i, int64_t j) const {
        within(i, rows);
        within(j, cols);
        return data[i * cols + j];
    }
    INLINE Vec<T> operator[](int64_t i) const {
        within(i, rows);
        return {data + i * cols, cols};
    }
    INLINE Vec<T> flat() const { return {data, rows * cols}; }
    template <class U = T, class = std::enable_if_t<!std::is_const_v<U>>>
    INLINE operator Mat<const U>() const {
        return {data, rows, cols};
    }
};

template <class T>
struct Cube {
    T* data;
    int64_t n0, n1, n2;
    INLINE T& operator()(int64_t i, int64_t j, int64_t k) const {
        within(i, n0);
        within(j, n1);
        within(k, n2);
        return data[(i * n1 + j) * n2 + k];
    }
    INLINE Mat<T> operator[](int64_t i) const {
        within(i, n0);
        return {data + i * n1 * n2, n1, n2};
    }
    template <class U = T, class = std::enable_if_t<!std::is_const_v<U>>>
    INLINE operator Cube<const U>() const {
        return {data, n0, n1, n2};
    }
};

// The element type without const: T of a kernel that is a template over `const T` arrays.
template <class T>
using plain = std::remove_const_t<T>;

// An argument that must not take part in the deduction of T: `add(Mat<T> W, Same<Vec<const T>> x)`.
template <class T>
struct Identity {
    using type = T;
};
template <class T>
using Same = typename Identity<T>::type;

// Memory for one call, at the beginning of a cache line: small ones on the stack, others on the heap. Not initialized.
template <class T, size_t SMALL = 2048 / sizeof(T)>
class Scratch {
  public:
    explicit Scratch(int64_t n) : n_(n) {
        if (n < 0 || static_cast<uint64_t>(n) > (uint64_t(1) << 60) / sizeof(T)) throw std::bad_alloc();
        if (static_cast<size_t>(n) > SMALL) {
            heap_ = static_cast<T*>(::operator new(static_cast<size_t>(n) * sizeof(T), std::align_val_t(64)));
        }
    }
    Scratch(int64_t n, T value) : Scratch(n) {
        for (int64_t i = 0; i < n; ++i) data()[i] = value;
    }
    ~Scratch() {
        if (heap_) ::operator delete(heap_, std::align_val_t(64));
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    INLINE T* data() { return heap_ ? heap_ : stack_; }
    INLINE Vec<T> vec() { return {data(), n_}; }
    INLINE Mat<T> mat(int64_t rows, int64_t cols) {
        part_within(0, rows * cols, n_);
        return {data(), rows, cols};
    }
    INLINE T& operator[](int64_t i) {
        within(i, n_);
        return data()[i];
    }

  private:
    static_assert(std::is_trivially_destructible_v<T>);
    int64_t n_;
    T* heap_ = nullptr;
    alignas(64) T stack_[SMALL];
};

INLINE double largest(double a, double b) { return b > a ? b : a; }    // Python's max(a, b): a where they are equal or NaN
INLINE double smallest(double a, double b) { return b < a ? b : a; }   // Python's min(a, b)
INLINE int64_t largest(int64_t a, int64_t b) { return b > a ? b : a; }
INLINE int64_t smallest(int64_t a, int64_t b) { return b < a ? b : a; }
INLINE float largest(float a, float b) { return b > a ? b : a; }
INLINE float smallest(float a, float b) { return b < a ? b : a; }

// Python's // and % for whole numbers: towards minus infinity.
INLINE int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
INLINE int64_t floor_modulo(int64_t a, int64_t b) {
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

// Python's int(x) of a number that fits; another one is refused, as C++ says nothing of it.
INLINE int64_t truncated(double x) {
    require(x > -0x1p63 && x < 0x1p63, "a number does not fit into 64 bits");
    return static_cast<int64_t>(x);
}

// Not std::isfinite, so that no library and no compiler option decides: exponent bits that are not all ones.
INLINE bool is_finite(double x) { return __builtin_fabs(x) < INF; }
INLINE double root(double x) { return __builtin_sqrt(x); }    // correctly rounded everywhere

}  // namespace smidgen
