/** When a call has to end, in ms since the epoch: the earlier of both; infinity without either. */
export function deadlineOf(limits: {
  readonly deadline?: Date;
  readonly timeoutMs?: number;
}): number {
  const byTimeout =
    limits.timeoutMs === undefined ? Number.POSITIVE_INFINITY : Date.now() + limits.timeoutMs;
  return Math.min(limits.deadline?.getTime() ?? Number.POSITIVE_INFINITY, byTimeout);
}
