/* Which instruction-set levels this processor has, the best first. Compiled for any processor. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject* levels(PyObject* self, PyObject* nothing) {
    (void)self;
    (void)nothing;
#if defined(__x86_64__)
    __builtin_cpu_init();
    int v2 = __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
    int v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
             __builtin_cpu_supports("fma");
    int v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
    v3 = v3 && __builtin_cpu_supports("x86-64-v3");
    v4 = v4 && __builtin_cpu_supports("x86-64-v4");
#endif
    if (v4) return Py_BuildValue("(sss)", "x86-64-v4", "x86-64-v3", "x86-64-v2");
    if (v3) return Py_BuildValue("(ss)", "x86-64-v3", "x86-64-v2");
    if (v2) return Py_BuildValue("(s)", "x86-64-v2");
    return PyTuple_New(0);
#else
    return Py_BuildValue("(s)", "baseline");
#endif
}

static PyMethodDef methods[] = {
    {"levels", levels, METH_NOARGS, "The instruction-set levels that this processor has, the best first."},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_cpu", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__cpu(void) { return PyModule_Create(&definition); }
