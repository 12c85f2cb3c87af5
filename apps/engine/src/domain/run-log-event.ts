/** One event of a run before it has a place in the sequence. Nothing in it is a secret. */
export interface RunLogEvent {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** An event as it is stored and sent: `seq` counts from 1 without gaps, `at` is in milliseconds since 1970. */
export interface StoredRunLogEvent extends RunLogEvent {
  readonly seq: number;
  readonly at: number;
}

/** Whether an event is a line of a program: a log that is full, or that waits for its store, does without it. */
export function isOutputLine({ type }: RunLogEvent): boolean {
  return type === "log" || type === "provision-output";
}
