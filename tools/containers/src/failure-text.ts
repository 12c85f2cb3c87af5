/**
 * An error with everything that it was made of: its cause, the errors of an `AggregateError`, and of a `SuppressedError`
 * both what failed first and what failed in the clean-up after it, which Node does not print.
 */
export function failureText(failure: unknown, label = "", seen: Set<unknown> = new Set()): string {
  if (!(failure instanceof Error)) return `${label}${String(failure)}`;
  if (seen.has(failure)) return `${label}${failure.message} (see above)`;
  seen.add(failure);
  const parts: (readonly [label: string, failure: unknown])[] = [];
  if (failure instanceof SuppressedError) {
    parts.push(["failed first: ", failure.suppressed], ["and then: ", failure.error]);
  }
  if (failure instanceof AggregateError) {
    parts.push(
      ...failure.errors.map((error): readonly [string, unknown] => ["one of them: ", error]),
    );
  }
  if (failure.cause !== undefined) parts.push(["caused by: ", failure.cause]);
  const own = `${label}${failure.stack ?? failure.message}`;
  return [own, ...parts.map(([word, part]) => failureText(part, word, seen))].join("\n");
}
