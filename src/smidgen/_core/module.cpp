// The extension module of one instruction-set level: every family is a dictionary of functions.
#define SMIDGEN_MODULE
#include "bind.hpp"

#include <deque>

namespace {

using smidgen::Entry;
using smidgen::Family;

std::deque<PyMethodDef> methods;    // Python keeps pointers to them
std::deque<std::string> docs;

// The names of an entry's arguments, and the kinds of each of its functions.
PyObject* describe(const Entry& entry) {
    PyObject* kinds = PyList_New(0);
    for (auto* each = entry.kinds; *each; ++each) {
        std::string kind;
        (*each)(kind);
        PyObject* text = PyUnicode_FromString(kind.c_str());
        if (!kinds || !text || PyList_Append(kinds, text) < 0) Py_CLEAR(kinds);
        Py_XDECREF(text);
    }
    return kinds ? Py_BuildValue("(sN)", entry.arguments, kinds) : nullptr;
}

// Add the functions of a family to one dictionary, and what they take to another.
bool fill_family(const Family& family, PyObject* functions, PyObject* table) {
    PyObject* home = PyUnicode_FromString((std::string("smidgen._core.") + family.name).c_str());
    bool whole = home != nullptr;
    for (const Entry& entry : family.entries) {
        if (!whole) break;
        docs.push_back(std::string(entry.name) + "(" + entry.arguments + ", /)\n--\n\n" + entry.doc);
        methods.push_back({entry.name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(entry.call)),
                           METH_FASTCALL, docs.back().c_str()});
        PyObject* function = PyCFunction_NewEx(&methods.back(), nullptr, home);
        PyObject* described = describe(entry);
        whole = function && described && PyDict_SetItemString(table, entry.name, described) == 0 &&
                PyDict_SetItemString(functions, entry.name, function) == 0;
        Py_XDECREF(function);
        Py_XDECREF(described);
    }
    Py_XDECREF(home);
    return whole;
}

int fill_module(PyObject* module) {
    import_array1(-1);
    PyObject* tables = PyDict_New();
    bool whole = tables && PyModule_AddObjectRef(module, "__tables__", tables) == 0;
    for (const Family* family : Family::all()) {
        if (!whole) break;
        PyObject *functions = PyDict_New(), *table = PyDict_New();
        whole = functions && table && fill_family(*family, functions, table) &&
                PyModule_AddObjectRef(module, family->name, functions) == 0 &&
                PyDict_SetItemString(tables, family->name, table) == 0;
        Py_XDECREF(functions);
        Py_XDECREF(table);
    }
    Py_XDECREF(tables);
    return whole ? 0 : -1;
}

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(fill_module)}, {0, nullptr}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT, "smidgen._core", nullptr, 0, nullptr, slots, nullptr, nullptr, nullptr};

}  // namespace

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
PyMODINIT_FUNC JOIN(PyInit_, SMIDGEN_MODULE_NAME)() { return PyModuleDef_Init(&definition); }
