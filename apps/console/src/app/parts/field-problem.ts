import { isClientError } from "@stackwright/client";

/** What the server says of one member of the body that it refused; undefined where it says nothing of it. */
export function fieldProblem(error: unknown, member: string): string | undefined {
  if (!isClientError(error)) return undefined;
  const pointer = `/body/${member}`;
  return error.problem?.errors?.find((one) => one.pointer === pointer)?.detail;
}
