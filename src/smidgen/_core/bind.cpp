// What the bindings say of arguments that they refuse.
#include "bind.hpp"

namespace smidgen {
namespace {

std::string name_of(const Where& where) {
    std::string all = where.names;
    if (all.empty()) return name_of(*where.outer) + "[" + std::to_string(where.index) + "]";
    size_t at = 0;
    for (int k = 0; k < where.index; ++k) at = all.find(", ", at) + 2;
    std::string own = all.substr(at, all.find(", ", at) - at);
    return where.outer ? name_of(*where.outer) + "." + own : own;
}

std::string function_of(const Where& where) { return where.outer ? function_of(*where.outer) : where.entry; }

std::string start(const Where& where) { return function_of(where) + "(): " + name_of(where) + " "; }

std::string dtype_of(PyArrayObject* array) {
    PyObject* text = PyObject_Str(reinterpret_cast<PyObject*>(PyArray_DESCR(array)));
    const char* words = text ? PyUnicode_AsUTF8(text) : nullptr;
    std::string dtype = words ? words : "another dtype";
    Py_XDECREF(text);
    PyErr_Clear();
    return dtype;
}

}  // namespace

void wrong(const Where& where, const char* what) { throw Refused(start(where) + what); }

void wrong_type(const Where& where, PyObject* given, const char* wanted) {
    throw WrongType(start(where) + "must be " + wanted + ", not " + Py_TYPE(given)->tp_name);
}

void wrong_size(const Where& where, size_t wanted, Py_ssize_t given) {
    throw Refused(start(where) + "must have " + std::to_string(wanted) + " parts, not " + std::to_string(given));
}

void wrong_array(const Where& where, PyObject* given, const char* dtype, int dimensions, int flags) {
    if (!PyArray_Check(given)) wrong_type(where, given, "a numpy array");
    auto* array = reinterpret_cast<PyArrayObject*>(given);
    std::string own = dtype_of(array);
    if (own != dtype && own + "_" != dtype) {
        throw WrongType(start(where) + "must have dtype " + dtype + ", not " + own);
    }
    if (PyArray_NDIM(array) != dimensions) {
        throw Refused(start(where) + "must have " + std::to_string(dimensions) + " dimensions, not " +
                      std::to_string(PyArray_NDIM(array)));
    }
    int missing = flags & ~PyArray_FLAGS(array);
    if (missing & NPY_ARRAY_C_CONTIGUOUS) wrong(where, "must be contiguous (C order)");
    if (missing & NPY_ARRAY_ALIGNED) wrong(where, "must be aligned");
    if (missing & NPY_ARRAY_WRITEABLE) wrong(where, "must be writable");
    throw WrongType(start(where) + "must have numpy's own dtype " + dtype + " in the byte order of this machine");
}

const bitgen_t* generator_bits(PyObject* given, const Where& where) {
    static PyObject* type = nullptr;
    if (!type) {
        PyObject* numpy_random = PyImport_ImportModule("numpy.random");
        type = numpy_random ? PyObject_GetAttrString(numpy_random, "Generator") : nullptr;
        Py_XDECREF(numpy_random);
    }
    PyErr_Clear();
    // numpy's own class only: of another one the bits need not outlive what it calls its bit_generator
    if (reinterpret_cast<PyObject*>(Py_TYPE(given)) != type) wrong_type(where, given, "a numpy.random.Generator");
    PyObject* source = PyObject_GetAttrString(given, "bit_generator");
    PyObject* capsule = source ? PyObject_GetAttrString(source, "capsule") : nullptr;
    auto* bits = capsule ? static_cast<const bitgen_t*>(PyCapsule_GetPointer(capsule, "BitGenerator")) : nullptr;
    Py_XDECREF(capsule);
    Py_XDECREF(source);
    PyErr_Clear();
    if (!bits) wrong(where, "has no bit generator");
    return bits;
}

void add_kind(std::string& text, const char* kind) { text += kind; }

void add_array_kind(std::string& text, const char* dtype, int dimensions, bool written) {
    text.append(dtype).append("[").append(std::to_string(dimensions)).append(written ? "]=" : "]");
}

PyObject* raise() {
    try {
        throw;
    } catch (const WrongType& error) {
        PyErr_SetString(PyExc_TypeError, error.what());
    } catch (const Refused& error) {
        PyErr_SetString(PyExc_ValueError, error.what());
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
    }
    return nullptr;
}

}  // namespace smidgen
