/* Run an archive from C: the process embeds Python with the package ttc-runtime, and hands over plain memory.

   cc run_archive.c $(python3-config --includes --embed --ldflags) -o run_archive
   ./run_archive model.tti x 2 8          prints the elements of the first output for x = 1, 1, ... of shape [2, 8] */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdio.h>
#include <stdlib.h>

/* A failed call ends the program with the message of the error, such as error[E0102] for a file that is not there. */
static PyObject *checked(PyObject *object) {
    if (object == NULL) {
        PyErr_Print();
        exit(2);
    }
    return object;
}

/* An array of numpy over memory of ours, which is not copied. */
static PyObject *array_over(PyObject *numpy, float *memory, Py_ssize_t count, PyObject *shape) {
    PyObject *view = checked(PyMemoryView_FromMemory((char *)memory, count * (Py_ssize_t)sizeof(float), PyBUF_WRITE));
    PyObject *flat = checked(PyObject_CallMethod(numpy, "frombuffer", "Os", view, "float32"));
    PyObject *array = checked(PyObject_CallMethod(flat, "reshape", "(O)", shape));
    Py_DECREF(view);
    Py_DECREF(flat);
    return array;
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: %s ARCHIVE INPUT SIZE...\n", argv[0]);
        return 2;
    }
    Py_Initialize();
    PyObject *numpy = checked(PyImport_ImportModule("numpy"));
    PyObject *ttc = checked(PyImport_ImportModule("ttc"));

    /* Opened once; every run after that is one call, in which other threads of the process may use Python. */
    PyObject *executor = checked(PyObject_CallMethod(ttc, "load", "s", argv[1]));

    Py_ssize_t count = 1;
    PyObject *shape = checked(PyTuple_New(argc - 3));
    for (int i = 3; i < argc; i++) {
        count *= atol(argv[i]);
        PyTuple_SetItem(shape, i - 3, PyLong_FromLong(atol(argv[i])));
    }
    float *memory = malloc((size_t)count * sizeof(float));
    if (memory == NULL)
        return 2;
    for (Py_ssize_t i = 0; i < count; i++)
        memory[i] = 1.0f;
    PyObject *input = array_over(numpy, memory, count, shape);
    PyObject *inputs = checked(Py_BuildValue("{s:O}", argv[2], input));
    PyObject *outputs = checked(PyObject_CallMethod(executor, "run", "O", inputs));

    PyObject *values = checked(PyDict_Values(outputs));
    Py_buffer result;
    if (PyObject_GetBuffer(PyList_GetItem(values, 0), &result, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0)
        checked(NULL);
    for (Py_ssize_t i = 0; i < result.len / result.itemsize; i++)
        printf("%.6g\n", (double)((float *)result.buf)[i]);
    PyBuffer_Release(&result);

    checked(PyObject_CallMethod(executor, "close", NULL));
    Py_DECREF(values);
    Py_DECREF(outputs);
    Py_DECREF(inputs);
    Py_DECREF(input);
    Py_DECREF(shape);
    Py_DECREF(executor);
    Py_DECREF(ttc);
    Py_DECREF(numpy);
    free(memory);
    return Py_FinalizeEx() == 0 ? 0 : 3;
}
