import { isClientError } from "@stackwright/client";

/** What a reader may do about a failure of a request, in one sentence. */
export function adviceFor(error: unknown): string {
  if (!isClientError(error)) return "Load the page again.";
  const { status, code } = error;
  if (code === "CLIENT_INVALID_ARGUMENT") return "Check the address of this page.";
  if (status === undefined) return "Check the connection to the server, then try again.";
  if (status === 401) return "Sign in again.";
  if (status === 403) {
    return "Ask an administrator of the account or the project for a role with which this is allowed.";
  }
  if (status === 404) {
    return "It was deleted or renamed, or is in a project in which you have no role.";
  }
  if (status === 429 || status === 503) return "Wait for a moment, then try again.";
  if (status >= 500) {
    return "Try again. If it stays so, the log of the server has more under the id of the request.";
  }
  return "Change what is asked for, then try again.";
}
