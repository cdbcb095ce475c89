// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The adapter interface: an implementation of attention kernels that mxverify judges.
//
// Outside the tree, an adapter is a shared object that exports one function,
//
//     const struct mxv_implementation *mxv_implementation(void);
//
// and is used by `mxverify run --impl ./lib.so`. docs/running.md shows a whole one. This header and
// those it includes are all it needs; functions of the library (mxv_engine_head, mxv_element_*...)
// are the program's own and may be called.
//
// Order of calls for each case: can_do, then setup, then run for every sequence and query head in
// any order, then done. A kernel that computes the whole call at once does so in setup and copies
// heads out in run. Calls come from one thread at a time unless MXV_IMPL_THREADS is declared; all
// of them are made in a worker process, so a crash or a hang costs the case only.
#ifndef MXVERIFY_IMPL_H
#define MXVERIFY_IMPL_H

#include <mxverify/attention.h>
#include <mxverify/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MXV_IMPL_ABI 2u

// What an implementation declares. Without SAME_BITS it is judged by the proved bound on its
// distance from exact attention.
enum mxv_impl_capability {
    MXV_IMPL_SAME_BITS = 1, // follows docs/kernels/*.md: every word must equal the emulation's
    MXV_IMPL_TAPS = 2,      // sends the taps of every stage to the sink of run
    MXV_IMPL_LSE = 4,       // writes LSE where the call asks for it
    MXV_IMPL_THREADS = 8    // run may be called from several threads at once
};

// What a function of the adapter returns.
enum mxv_impl_status {
    MXV_IMPL_OK = 0,
    MXV_IMPL_UNSUPPORTED, // does not offer this call: verdict unsupported
    MXV_IMPL_FAILED,      // tried and failed: verdict fail, with the message
    MXV_IMPL_LOST,        // the device stopped answering: verdict device-lost, and a fresh process
    MXV_IMPL_NO_MEMORY    // memory of the host or the device is short: no verdict, the run ends.
                          // Later than the first judges of ABI 2, which take it for FAILED
};

enum { MXV_IMPL_WORDS = 96 };

// Filled by info; all zero before.
struct mxv_impl_info {
    char device[MXV_IMPL_WORDS]; // "NVIDIA H200", "" for none
    char driver[MXV_IMPL_WORDS]; // "570.86.15", "" for none
    char arch[MXV_IMPL_WORDS];   // "sm_90": cases of a tier take it unless --arch says otherwise;
                                 // "" leaves each kernel's default
};

// Functions return an enum mxv_impl_status and, unless that is OK, a sentence in message
// (NUL-terminated, at most `size` bytes).
struct mxv_implementation {
    unsigned abi;     // MXV_IMPL_ABI
    size_t call_size; // sizeof(struct mxv_attention): the adapter was built for this layout
    const char *name; // as in reports; "cuda", "mykernel"
    const char *version;
    unsigned capabilities; // bit set of enum mxv_impl_capability
    // Once after loading; NULL: no device. Not OK: the adapter cannot work here (exit status 3).
    int (*info)(struct mxv_impl_info *out, char *message, size_t size);
    // Whether it offers a call; NULL: every call.
    int (*can_do)(const struct mxv_attention *a, char *message, size_t size);
    // Prepares a call; *state is handed to run and done. NULL: nothing to prepare, state is NULL.
    int (*setup)(const struct mxv_attention *a, void **state, char *message, size_t size);
    // Computes one query head of one sequence. out: [lq][d] codes of a->out; lse: [lq] binary32
    // words. Every word must be written; words around them are guarded. sink: NULL, or with
    // MXV_IMPL_TAPS the receiver of this head's taps in the order of docs/kernels/contract.md.
    // Payloads of NaNs do not matter in out and lse.
    int (*run)(void *state, const struct mxv_attention *a, size_t sequence, size_t head,
               uint32_t *out, uint32_t *lse, const struct mxv_tap_sink *sink, char *message,
               size_t size);
    // Ends a call, after every setup that returned OK. NULL: nothing to end.
    void (*done)(void *state);
};

// The type of the function that a shared object exports under the name mxv_implementation.
typedef const struct mxv_implementation *mxv_implementation_function(void);

// ---- the judge's side

struct mxv_adapter;

// Takes an implementation that is linked in, or loads a shared object. MXV_ERR_INPUT with a message
// when it is none or of another ABI, MXV_ERR_UNSUPPORTED when its info refuses. A path without a
// slash is a file of the current folder, or, where there is none, one that dlopen looks for.
enum mxv_status mxv_adapter_of(const struct mxv_implementation *implementation,
                               struct mxv_adapter **out, char *message, size_t size);
enum mxv_status mxv_adapter_open(const char *path, struct mxv_adapter **out, char *message,
                                 size_t size);
void mxv_adapter_close(struct mxv_adapter *adapter); // NULL is allowed

const struct mxv_implementation *mxv_adapter_implementation(const struct mxv_adapter *adapter);
const struct mxv_impl_info *mxv_adapter_info(const struct mxv_adapter *adapter);
bool mxv_adapter_has(const struct mxv_adapter *adapter, enum mxv_impl_capability capability);

// can_do and setup, on copies of the tensors; *state goes to mxv_adapter_head and mxv_adapter_done.
// Inputs that the adapter changed, here or in a head, are MXV_IMPL_FAILED; the judge's own lack of
// memory, too, is MXV_IMPL_NO_MEMORY.
enum mxv_impl_status mxv_adapter_begin(const struct mxv_adapter *adapter,
                                       const struct mxv_attention *a, void **state, char *message,
                                       size_t size);
// run, with words written beyond out or lse found (MXV_IMPL_FAILED) and NaNs made canonical. lse
// may be NULL. Words that the implementation leaves out keep what is in out and lse.
enum mxv_impl_status mxv_adapter_head(const struct mxv_adapter *adapter, void *state,
                                      const struct mxv_attention *a, size_t sequence, size_t head,
                                      uint32_t *out, uint32_t *lse, const struct mxv_tap_sink *sink,
                                      char *message, size_t size);
void mxv_adapter_done(const struct mxv_adapter *adapter, void *state);

// For a caller that wants to say where an adapter died: `line` (of the caller, NULL: none) holds
// the line of the case at hand, which mxv_adapter_case puts there.
void mxv_adapter_watch(struct mxv_adapter *adapter, char *line, size_t size);
void mxv_adapter_case(const struct mxv_adapter *adapter, const char *line);

#ifdef __cplusplus
}
#endif
#endif
