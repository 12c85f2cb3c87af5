import { type RpcCode, RpcError, type StatusDetail } from "@stackwright/proto/grpc";

/** An error with the name of the server that it came from. */
export interface NamedFailure {
  readonly server: string;
  readonly error: RpcError;
}

/**
 * What the errors of a broadcast to `servers` servers amount to; `undefined` when the call succeeded.
 *
 * A server that does not implement the method is passed over, unless none does. Errors that say the same
 * (differing at most in request ids) count once. One distinct error is the answer, unchanged; several become
 * one, under the code of the first, with the texts of all, each with its server, and the details of all.
 */
export function combineFailures(
  failures: readonly NamedFailure[],
  servers: number,
): RpcError | undefined {
  const real = failures.filter(({ error }) => error.code !== "UNIMPLEMENTED");
  if (real.length === 0) {
    if (failures.length < servers) return undefined;
    const texts = new Set(failures.map(({ error }) => error.rawMessage));
    return new RpcError("UNIMPLEMENTED", [...texts].join("; "));
  }
  const distinct = new Map<string, NamedFailure>();
  for (const failure of real) {
    const key = `${failure.error.code} ${maskIds(failure.error.rawMessage)}`;
    if (!distinct.has(key)) distinct.set(key, failure);
  }
  const [first] = distinct.values();
  if (first === undefined) return undefined;
  const { error } = first;
  const details = distinctDetails(real.flatMap((failure) => failure.error.details));
  if (distinct.size === 1) {
    return details.length === error.details.length
      ? error
      : new RpcError(error.code, error.rawMessage, { details, metadata: error.metadata });
  }
  const lines = [...distinct.values()].map(
    (failure) => `\t* ${failure.server}: ${describeStatus(failure.error)}`,
  );
  return new RpcError(error.code, `${distinct.size} errors occurred:\n${lines.join("\n")}\n`, {
    details,
    cause: new AggregateError(real.map((failure) => failure.error)),
  });
}

/** Ids of requests differ between equal errors. */
function maskIds(text: string): string {
  return text
    .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi, "<id>")
    .replace(/\b[0-9a-f]{16,}\b/gi, "<id>");
}

function distinctDetails(details: readonly StatusDetail[]): StatusDetail[] {
  const distinct = new Map<string, StatusDetail>();
  for (const detail of details) {
    const key = `${detail.typeUrl} ${Buffer.from(detail.value).toString("base64")}`;
    if (!distinct.has(key)) distinct.set(key, detail);
  }
  return [...distinct.values()];
}

/** How gRPC for Go writes a status into a text: the names of codes without underscores. */
function describeStatus({ code, rawMessage }: RpcError): string {
  return `rpc error: code = ${goName(code)} desc = ${rawMessage}`;
}

function goName(code: RpcCode): string {
  return code === "CANCELLED"
    ? "Canceled"
    : code
        .toLowerCase()
        .replace(/(?:^|_)([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}
