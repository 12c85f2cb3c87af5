/** One event of a run before it has a place in the sequence. Nothing in it is a secret. */
export interface RunLogEvent {
  readonly type: string;
  readonly [member: string]: unknown;
}
