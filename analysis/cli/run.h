// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The run behind `run`, `repro` and `merge`: configuration, source of cases, outcomes, totals.
// Private.
//
//     run.c          verb run          run_cases.c    one run from start to report
//     run_repro.c    verb repro        run_slot.c     one case: made, verified, packed
//     run_options.c  options
//     run_resume.c   an earlier log    run_workers.c  cases in worker processes, and again
//     run_record.c   outcome <-> log   run_ledger.c   known failures
//     run_totals.c   outcomes added    run_report.c   the table at the end
//     run_library.c  adapters         run_events.c   mandatory events of a tier
//     run_judging.c  options that decide how cases are judged
//     run_files.c    folder and files, before the first case
//     run_settings.c settings, before anything is written
#ifndef MXV_CLI_RUN_H
#define MXV_CLI_RUN_H

#include <argp.h>
#include <jansson.h>
#include <mxverify/coverage.h>
#include <mxverify/ledger.h>
#include <mxverify/shard.h>
#include <mxverify/tiers.h>
#include <mxverify/verify.h>

enum maps_wanted { MAPS_AUTO, MAPS_ALL, MAPS_FAIL, MAPS_NONE };
enum events_wanted { EVENTS_BY_TIER, EVENTS_REQUIRED, EVENTS_FREE };
enum { RUN_SETTINGS_MAX = 64, RUN_MAPS_AUTO = 4 };

struct run_config {
    const char *kernel, *cases, *out, *log_name, *input, *fault, *arch, *impl_name;
    const char *settings[RUN_SETTINGS_MAX]; // key=value, applied to every case
    size_t setting_count;
    uint64_t seed;
    size_t count;
    double time_budget; // seconds, 0: none
    struct mxv_verify_options verify;
    enum maps_wanted maps;
    bool explain; // the terms behind the worst element of each case that is printed
    bool with_real, quiet, print_hash, require_coverage, print_coverage, print_events, no_log;
    enum events_wanted events;
    bool events_tier;      // the cases are those of a tier that has to meet the mandatory events
    size_t asked_settings; // of the settings, by the user
    const char *real_dir;
    unsigned workers; // processes; 0: cases are verified in this process
    double timeout;   // seconds a case may take in a worker, 0: no limit
    bool has_timeout, has_truth_scores, no_retry, resume;
    struct mxv_shard shard;
    const char *shard_source;          // variable that the shard came from, or NULL
    const char *ledger, *junit, *html; // files, or NULL
    bool impl_cuda;                    // --impl cuda
    const char *impl_asked;            // as given with --impl, or NULL
    const char *impl_library;          // path of an implementation outside the tree, or NULL
    const char *impl_version, *device, *driver, *impl_arch; // of the implementation, or NULL
    int argc;
    char **argv;
};

// What the source of a run is: case i of a tier, or one case.
struct run_source {
    struct mxv_tier *tier;
    struct mxv_case single;
    size_t count; // SIZE_MAX: until the time is over
};

// Score errors of one route, log2 units.
#define RUN_SPLIT(X, id, name)                                                                     \
    X(QUANTISATION_##id, "split.score." name ".quantisation_rms",                                  \
      run_rms(r->split[MXV_ROUTE_##id].quantisation_squares, r->split[MXV_ROUTE_##id].pairs))      \
    X(COMPUTE_##id, "split.score." name ".compute_rms",                                            \
      run_rms(r->split[MXV_ROUTE_##id].compute_squares, r->split[MXV_ROUTE_##id].pairs))

// Error of the outputs by cause over the tiles of one route, rms.
#define RUN_CAUSE(X, route_id, route, id, name)                                                    \
    X(CAUSE_##route_id##_##id, "split.out." route "." name,                                        \
      mxv_split_rms(&r->causes.by_route[MXV_ROUTE_##route_id], MXV_CAUSE_##id))
#define RUN_CAUSES(X, id, route)                                                                   \
    RUN_CAUSE(X, id, route, QUANTISATION, "quantisation")                                          \
    RUN_CAUSE(X, id, route, SCORE, "score")                                                        \
    RUN_CAUSE(X, id, route, EXP2, "exp2")                                                          \
    RUN_CAUSE(X, id, route, RESCALE, "rescale")                                                    \
    RUN_CAUSE(X, id, route, WEIGHT, "weight")                                                      \
    RUN_CAUSE(X, id, route, SUM, "sum")                                                            \
    RUN_CAUSE(X, id, route, PRODUCT, "product")                                                    \
    RUN_CAUSE(X, id, route, DIVISION, "division")                                                  \
    RUN_CAUSE(X, id, route, OUTPUT, "output")                                                      \
    RUN_CAUSE(X, id, route, IMPLEMENTATION, "implementation")

// Numbers of a case that go to its record in the log and are read from it again when a run is
// resumed or shards are merged: X(id, name in the log, value in struct mxv_verify_result *r).
#define RUN_NUMBERS(X)                                                                             \
    X(BOUND_RATIO, "bound_ratio", r->worst_bound_ratio)                                            \
    X(TAPS, "taps", r->taps)                                                                       \
    X(WORDS, "words", r->words)                                                                    \
    X(TRUTH_ROWS, "truth_rows", r->truth_rows)                                                     \
    X(ROWS, "rows", r->truth_rows_total)                                                           \
    X(CERTIFIED, "truth.certified", r->truth_certified)                                            \
    X(UNDEFINED_ROWS, "undefined_rows", r->undefined_rows)                                         \
    X(UNMEASURED_ROWS, "unmeasured_rows", r->unmeasured_rows)                                      \
    X(BOUND_ELEMENTS, "bound.elements", r->bound.elements)                                         \
    X(BOUND_WRONG, "bound.wrong", r->bound.wrong)                                                  \
    X(BOUND_UNDECIDED, "bound.undecided", r->bound.undecided)                                      \
    X(MODEL_WRONG, "bound.model_wrong", r->bound.model_wrong)                                      \
    X(MODEL_UNDECIDED, "bound.model_undecided", r->bound.model_undecided)                          \
    X(ERROR_MAX, "bound.error_max", r->bound.error_max)                                            \
    X(BOUND_AT_MAX, "bound.at_max", r->bound.bound_at_max)                                         \
    X(MODEL_AT_MAX, "bound.model_at_max", r->bound.model_at_max)                                   \
    X(BOUND_MEDIAN, "bound.median", r->bound.bound_median)                                         \
    X(MODEL_MEDIAN, "bound.model_median", r->bound.model_median)                                   \
    X(BOUND_WORDS, "bound.words", r->bound.words)                                                  \
    X(LSE_ELEMENTS, "bound.lse_elements", r->bound.lse.elements)                                   \
    X(LSE_WRONG, "bound.lse_wrong", r->bound.lse.wrong)                                            \
    X(LSE_UNDECIDED, "bound.lse_undecided", r->bound.lse.undecided)                                \
    X(LSE_MODEL_WRONG, "bound.lse_model_wrong", r->bound.lse.model_wrong)                          \
    X(LSE_MODEL_UNDECIDED, "bound.lse_model_undecided", r->bound.lse.model_undecided)              \
    X(LSE_ERROR_MAX, "bound.lse_error_max", r->bound.lse.error_max)                                \
    X(LSE_AT_MAX, "bound.lse_at_max", r->bound.lse.bound_at_max)                                   \
    X(LSE_MODEL_AT_MAX, "bound.lse_model_at_max", r->bound.lse.model_at_max)                       \
    X(GATE_APPLICABLE, "gate.applicable", run_gate_count(r->gate.applicable))                      \
    X(GATE_BITS, "gate.bits", run_gate_count(r->gate.bits))                                        \
    X(GATE_BOUND, "gate.bound", run_gate_count(r->gate.bound))                                     \
    X(GATE_MODEL, "gate.model", run_gate_count(r->gate.model))                                     \
    X(GATE_MODEL_WEAK, "gate.model_survivors",                                                     \
      r->bound.available ? run_gate_count(mxv_gate_survivors(&r->gate, r->gate.model)) : 0)        \
    X(GATE_GAIN_UP, "gate.gain_up", run_gain(&r->gate, r->gate.gain_up))                           \
    X(GATE_GAIN_DOWN, "gate.gain_down", run_gain(&r->gate, r->gate.gain_down))                     \
    X(GATE_MODEL_UP, "gate.model_gain_up", run_gain(&r->gate, r->gate.model_up))                   \
    X(GATE_ELEMENT_ULP, "gate.element_ulp", r->bound.available ? r->gate.element_ulp : 0)          \
    X(QUANTISATION_RMS, "split.quantisation_rms", r->quantisation_rms)                             \
    X(COMPUTE_RMS, "split.compute_rms", r->compute_rms)                                            \
    X(SPLIT_RESIDUAL, "split.residual", r->causes.residual)                                        \
    RUN_SPLIT(X, F16, "f16")                                                                       \
    RUN_SPLIT(X, HIGH, "high")                                                                     \
    RUN_SPLIT(X, LOW, "low")                                                                       \
    RUN_SPLIT(X, CORE, "core")                                                                     \
    RUN_SPLIT(X, INT8, "int8")                                                                     \
    RUN_CAUSES(X, F16, "f16")                                                                      \
    RUN_CAUSES(X, HIGH, "high")                                                                    \
    RUN_CAUSES(X, LOW, "low")                                                                      \
    RUN_CAUSES(X, CORE, "core")                                                                    \
    RUN_CAUSES(X, INT8, "int8")

enum run_number {
#define X(id, name, value) RUN_##id,
    RUN_NUMBERS(X)
#undef X
#define X(id, name, text) RUN_TILES_##id, // "tiles.NAME": score tiles by route
        MXV_ROUTES(X)
#undef X
#define X(id, name, text) RUN_LEFT_##id, // "truth.left.NAME": enclosures of rows by MPFR
            MXV_TRUTH_LEFTS(X)
#undef X
                RUN_NUMBER_COUNT
};

// What is kept of a case once it is over; the same from a result and from its record.
struct run_outcome {
    uint64_t index;
    enum mxv_kernel kernel;
    enum mxv_verdict verdict;
    bool has_truth;
    double rel_l2_inputs, rel_l2_operands; // NaN: no row was measured
    double numbers[RUN_NUMBER_COUNT];
    uint64_t output_hash;
    size_t map_count;
    bool has_events; // it ran, and its events were counted
    struct mxv_events events;
};

struct run_totals {
    size_t counts[MXV_VERDICT_COUNT];
    size_t by_kernel[MXV_KERNEL_COUNT][MXV_VERDICT_COUNT];
    uint64_t tiles[MXV_KERNEL_COUNT][MXV_ROUTE_COUNT], words[MXV_KERNEL_COUNT];
    double bound_ratio[MXV_KERNEL_COUNT]; // largest over the cases with a bound
    size_t bounded[MXV_KERNEL_COUNT];     // their number
    uint64_t truth_rows[MXV_KERNEL_COUNT], truth_rows_total[MXV_KERNEL_COUNT];
    uint64_t unmeasured_rows[MXV_KERNEL_COUNT];
    uint64_t certified, left[MXV_TRUTH_LEFT_COUNT]; // enclosures of rows
    size_t done, maps, resumed;
    bool stopped_early;
    double seconds;
    struct mxv_coverage coverage;
    struct mxv_events events[MXV_KERNEL_COUNT];
    size_t without_events; // cases that did not run, or whose events were not counted
    bool events_tier; // whole tier, or whole shard of one, that has to meet the mandatory events
    bool part;        // of a run: a shard
    bool events_judged;
    size_t events_missing; // mandatory ones, if judged
    struct run_hash {
        uint64_t index, hash;
        enum mxv_kernel kernel;
        double tightness, model_tightness; // bound / error where the error is largest; NaN: none
        double rel_l2_inputs, rel_l2_operands; // NaN: no truth, or no row measured
    } * hashes;                                // of every case, owned
    size_t hash_room;
    struct run_power { // over the cases with a bound
        size_t cases, model_weak;
        double applicable, bound, model;
        double gain, model_gain; // smallest k over the cases where a gain changes a judged word,
        bool has_gain;           // if there is one
    } power[MXV_KERNEL_COUNT];
};

// One case on its way.
struct run_slot {
    uint64_t index;
    struct mxv_case c;
    struct mxv_verify_result result;
    enum mxv_status status;
    char message[MXV_VERIFY_TEXT];
    bool refused; // the case cannot take the settings: its line is without them, why: message
    enum mxv_verdict found;               // before the ledger
    const struct mxv_ledger_entry *entry; // the entry that changed it, or NULL
};

struct run {
    const struct run_config *config;
    unsigned threads; // of OpenMP, for all workers together
    struct run_source *source;
    struct run_totals totals;
    struct mxv_log *log;
    struct mxv_ledger *ledger;
    struct mxv_ledger_place place;
    size_t expired; // entries of the ledger
    bool *finished; // [finished_count] cases that an earlier run has done
    uint64_t finished_count;
    uint64_t next; // first index not yet handed out
    double start, last_progress;
    char folder[1024], log_path[1200], today[11];
    size_t refused; // cases that could not take the settings, so far
    int lock;       // descriptor that holds the log's lock, or -1
    bool drawn;
};

// ---- options

// Folder of the captured activations: the given one, else data/real/smollm2-135m, which
// mxv_data_path finds; case lines then name them alike on every machine.
const char *run_real_folder(const char *given);
void run_config_defaults(struct run_config *config);
// Options that verb repro has, too; the others are private to run.c.
enum {
    RUN_OPT_IMPL = 256,
    RUN_OPT_OUT,
    RUN_OPT_NO_TRUTH,
    RUN_OPT_TRUTH_SCORES,
    RUN_OPT_TIMEOUT,
    RUN_OPT_NO_RETRY,
    RUN_OPT_WIDE_P,
    RUN_OPT_EXPLAIN,
    RUN_OPT_OTHER,
    RUN_OPT_LAST = 512
};
extern const struct argp_option run_options[];
// The parser of argp for a struct run_config; 0, or ARGP_ERR_UNKNOWN.
int run_parse_option(int key, char *arg, struct argp_state *state);
// What follows from options together; 0, or an exit status after a message.
int run_config_finish(struct run_config *config);

// ---- a run

// Makes the folder and its parents; 0, or an exit status after a message.
int run_make_folder(const char *path);
// No file that is written is another one of the run's, and the reports can be written; 0, or 3
// after a message.
int run_check_files(const struct run *run);
// The settings say something, some case can take them, and the files of cases are there; 0, or 3
// after one message. Writes nothing.
int run_check_settings(const struct run *run);
// Runs everything and prints the report; returns the exit status.
int run_cases(const struct run_config *config, struct run_source *source);
// log_path: NULL when none was written.
void run_report(const struct run_config *config, const struct run_totals *totals, uint64_t hash,
                const char *log_path);
// Next index of this shard that is not finished; false when there is none, or when the run is
// interrupted or out of time.
bool run_next(struct run *run, uint64_t *index);
double run_now(void);
void run_progress(struct run *run, bool last);
// Takes a verified case over: ledger, totals, log, terminal. 0, or an exit status after a message.
int run_finish(struct run *run, struct run_slot *slot);

// ---- one case

// Case `index` with the settings of the command line; slot->status says whether there is one. A
// case that cannot take them is skipped (or unsupported) as it is without them.
void run_slot_make(const struct run *run, struct run_slot *slot, uint64_t index);
void run_slot_verify(const struct run *run, struct run_slot *slot);
// The result as bytes and back; both sides are the same program. false: memory is short, or the
// bytes are no result.
bool run_slot_pack(const struct run_slot *slot, unsigned char **bytes, size_t *size);
bool run_slot_unpack(struct run_slot *slot, const unsigned char *bytes, size_t size);

// ---- bounds (run_bound.c)

double run_gate_count(uint64_t set);                        // mutants in a set
double run_rms(double squares, uint64_t count);             // 0 for none
double run_gain(const struct mxv_gate_report *gate, int k); // k, or -1 where gain changes nothing
// Two or three lines on bound and gate of a case; and the terms behind its worst element.
void run_print_bound(const struct mxv_verify_result *result);
void run_explain(const struct mxv_verify_result *result);
// "weight 3.1e-05 at sequence 0 head 0 tile (0, 1) low; ...": the tile to which each cause
// contributes most. Empty where nothing was split.
void run_worst_tiles(const struct mxv_split *split, char *text, size_t size);

// ---- outcomes

void run_outcome_of(const struct run_slot *slot, struct run_outcome *out);
// Says once in a program why the log cannot be written; every later record fails alike. Returns 3.
int run_log_failed(const char *message);
int run_write_record(struct run *run, const struct run_slot *slot, const char *id,
                     const char *line);
// From a record of a log; false when it is none or lacks something.
bool run_read_record(const json_t *record, struct run_outcome *out, struct mxv_case *c);

// routes: bit set of enum mxv_route.
void run_totals_add(struct run_totals *totals, const struct run_outcome *outcome,
                    const struct mxv_case *c);
// XXH3-64 over the output hashes in the order of the indices.
uint64_t run_totals_hash(struct run_totals *totals);
void run_totals_free(struct run_totals *totals);
// shard: NULL for the whole.
int run_write_totals(struct mxv_log *log, const struct run_totals *totals, uint64_t hash,
                     const struct mxv_shard *shard);

// ---- mandatory events (run_events.c)

// Whether these cases are a whole tier that has to meet them, or a shard of one; then they are
// counted.
void run_events_decide(struct run_config *config, const struct mxv_tier_options *tier);
// Judges the totals of a run that is over, or of merged shards. `whole`: no case is missing.
void run_events_judge(struct run_totals *totals, enum events_wanted wanted, bool tier, bool whole);
// What is missing, or why nothing was judged; prints the table if asked for. 0, or 1.
int run_events_report(const struct run_totals *totals, bool table, bool quiet);

// ---- how cases are judged (run_judging.c)

struct mxv_log_judging run_judging_of(const struct run_config *config);
// Whether two headers of logs say different things, and what, as an option or in words. A header
// without `judging` says what its command line does.
enum { RUN_JUDGING_TEXT = 64 };
bool run_judging_differs(const json_t *a, const json_t *b, char said_a[RUN_JUDGING_TEXT],
                         char said_b[RUN_JUDGING_TEXT]);
// 0 if the run that wrote the header judged as this one does, or 3 after a message.
int run_judging_check(const struct run_config *config, const json_t *header, const char *log_path);

// ---- resume, workers, ledger

// Reads the log of an earlier run into totals and finished, and cuts a torn record and the totals
// off. 0, or an exit status after a message. *has_header: whether the log has one to keep.
int run_resume(struct run *run, bool *has_header);
int run_lock_log(struct run *run);
int run_workers(struct run *run);
// Asks an adapter for its name, device and driver; 0, or an exit status after a message.
int run_ask_library(struct run_config *config);
// Whether `cases` names a tier rather than a file.
bool run_is_tier(const char *cases);
// --impl recorded: opens data/golden/h200. --impl cuda: finds its adapter. 0, or 3 after a message.
int run_open_recorded(struct run_config *config);
int run_find_cuda(struct run_config *config);
// In a worker: loads the adapter into config->verify. 0, or non-zero with a message.
int run_load_library(struct run_config *config, char *message, size_t size);
int run_open_ledger(struct run *run);
void run_apply_ledger(struct run *run, struct run_slot *slot);
void run_report_ledger(const struct run *run);
// A result without a run: quarantined by the ledger. True when it was.
bool run_quarantine(struct run *run, struct run_slot *slot);

#endif
