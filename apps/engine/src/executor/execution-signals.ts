/** What stops an execution. */
export interface ExecutionSignals {
  /** Stage 1 of a cancel. */
  readonly stop: AbortSignal;
  /** Stage 2. */
  readonly force: AbortSignal;
}
