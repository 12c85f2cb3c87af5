import { Path } from "@stackwright/cty";
import { RpcError } from "@stackwright/proto/grpc";
import { parsePropertyPath } from "@stackwright/proto/property";
import { toRpcError } from "../broadcast.ts";
import type { ProviderDiagnostic } from "../router/diagnostic.ts";
import type { Reply } from "../router/lifecycle-provider.ts";
import { failureToDiagnostic, ProviderFailure } from "../router/provider-failure.ts";

/** Failures of Check and Invoke as diagnostics of the attributes that they name. */
export function failuresToDiagnostics(
  failures: readonly { readonly property: string; readonly reason: string }[],
): ProviderDiagnostic[] {
  return failures.map(({ property, reason }) => ({
    severity: "error",
    summary: "Invalid value",
    detail: reason,
    ...(property !== "" && { attribute: pathOf(property) }),
  }));
}

function pathOf(property: string): Path {
  return parsePropertyPath(property).reduce<Path>(
    (path, step) => (typeof step === "number" ? path.index(step) : path.attribute(step)),
    Path.root,
  );
}

/** What a provider says by a status. */
export function rpcDiagnostic({ rawMessage, code }: RpcError): ProviderDiagnostic {
  return { severity: "error", summary: "Provider failed", detail: `${rawMessage} (${code})` };
}

/** The reply, or `undefined` of a provider that does not have the method. */
export async function missing<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (toRpcError(error).code === "UNIMPLEMENTED") return undefined;
    throw error;
  }
}

/** Statuses by which a provider refuses a call; others say that it could not answer. */
const REFUSALS = new Set([
  "UNKNOWN",
  "INVALID_ARGUMENT",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "PERMISSION_DENIED",
  "FAILED_PRECONDITION",
  "OUT_OF_RANGE",
  "UNAUTHENTICATED",
  "ABORTED",
  "UNIMPLEMENTED",
]);

function toDiagnostic(error: unknown): ProviderDiagnostic {
  if (error instanceof ProviderFailure) return failureToDiagnostic(error);
  const failure = toRpcError(error);
  if (error instanceof RpcError && REFUSALS.has(failure.code)) return rpcDiagnostic(failure);
  throw error;
}

/** The reply of a call, or what its provider said against it as a diagnostic. Other errors pass. */
export async function captureFailure<T extends object>(
  call: () => Promise<T>,
): Promise<Reply & Partial<T>> {
  try {
    return { diagnostics: [], ...(await call()) };
  } catch (error) {
    return { diagnostics: [toDiagnostic(error)] } as unknown as Reply & Partial<T>;
  }
}

/** The diagnostics of a call, those it threw included. */
export async function report(call: () => Promise<readonly ProviderDiagnostic[]>): Promise<Reply> {
  try {
    return { diagnostics: await call() };
  } catch (error) {
    return { diagnostics: [toDiagnostic(error)] };
  }
}
