import { createHash } from "node:crypto";
import { urlToHttpOptions } from "node:url";
import { TfstateError } from "../errors.ts";
import type { BackendArguments } from "./backend-arguments.ts";
import { isOwnLock, lockedError, lockText } from "./lock-record.ts";
import { serverIdentity } from "./server-identity.ts";
import { DEFAULT_WORKSPACE, type HeldLock, type StateBackend } from "./state-backend.ts";
import { answerError, sendRequest, type WebAnswer } from "./web-request.ts";

/** One state behind an HTTP address, with locks where `lock_address` is set. */
export function httpBackend(configuration: BackendArguments): StateBackend {
  const option = (name: string): string | undefined =>
    configuration.text(name, `TF_HTTP_${name.toUpperCase()}`);
  const address = configuration.need("address", "TF_HTTP_ADDRESS");
  const lockAddress = option("lock_address");
  const unlockAddress = option("unlock_address");
  const username = option("username");
  const authorization =
    username === undefined
      ? undefined
      : `Basic ${Buffer.from(`${username}:${option("password") ?? ""}`).toString("base64")}`;
  const retries = configuration.number("retry_max", "TF_HTTP_RETRY_MAX") ?? 2;
  const insecure = configuration.flag("skip_cert_verification", "TF_HTTP_SKIP_CERT_VERIFICATION");
  const security = {
    insecure,
    ca: option("client_ca_certificate_pem"),
    cert: option("client_certificate_pem"),
    key: option("client_private_key_pem"),
  };
  const further = configuration.map("headers") ?? {};
  const shown = place(address);
  const failure = (what: string, answer: WebAnswer): TfstateError =>
    answerError(shown, what, answer, secrets);
  const secrets = [
    option("password"),
    username === undefined ? undefined : `${username}:${option("password") ?? ""}`,
    ...Object.values(further),
    ...[address, lockAddress, unlockAddress].flatMap(secretsOf),
  ].filter((secret) => secret !== undefined);

  const call = async (
    method: string,
    url: string,
    body: Uint8Array | string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<WebAnswer> =>
    sendRequest({
      method,
      url,
      retries,
      security,
      signal,
      headers: {
        ...further,
        ...(authorization !== undefined && { Authorization: authorization }),
        ...(body !== undefined && {
          "Content-Type": "application/json",
          "Content-MD5": createHash("md5").update(body).digest("base64"),
        }),
      },
      ...(body !== undefined && { body }),
    });

  const release = async (record: string, signal: AbortSignal | undefined): Promise<void> => {
    const url = unlockAddress ?? lockAddress;
    if (url === undefined) return;
    const answer = await call(option("unlock_method") ?? "UNLOCK", url, record, signal);
    if (answer.status !== 200) throw failure("releasing the lock", answer);
  };

  return {
    type: "http",
    place: () => shown,
    identity: () => withoutUser(address),
    workspaces: async () => [DEFAULT_WORKSPACE],
    read: async (workspace, { signal } = {}) => {
      onlyDefault(workspace);
      const answer = await call("GET", address, undefined, signal);
      if (answer.status === 204 || answer.status === 404) return undefined;
      if (answer.status !== 200) throw failure("reading the state", answer);
      return answer.body.length === 0 ? undefined : answer.body;
    },
    write: async (workspace, bytes, { signal, lockId } = {}) => {
      onlyDefault(workspace);
      const url = new URL(address);
      if (lockId !== undefined) url.searchParams.set("ID", lockId);
      const answer = await call(option("update_method") ?? "POST", url.href, bytes, signal);
      if (![200, 201, 204].includes(answer.status)) {
        throw failure("writing the state", answer);
      }
    },
    lock: async (workspace, record, { signal } = {}): Promise<HeldLock> => {
      onlyDefault(workspace);
      const text = lockText(record);
      const held = { id: record.ID, outlivesProcess: lockAddress !== undefined };
      if (lockAddress === undefined) return { ...held, release: async () => undefined };
      const answer = await call(option("lock_method") ?? "LOCK", lockAddress, text, signal);
      const isHeld = answer.status === 409 || answer.status === 423;
      const holder = answer.body.toString("utf8");
      if (isHeld && !isOwnLock(holder, record)) throw lockedError(shown, holder);
      if (!isHeld && answer.status !== 200) throw failure("locking the state", answer);
      return { ...held, release: async (options) => release(text, options?.signal) };
    },
    ...(lockAddress !== undefined && {
      unlock: async (_workspace: string, id: string, { signal } = {}) =>
        release(JSON.stringify({ ID: id }), signal),
    }),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** An address without the user and the query, which may hold credentials. */
function place(address: string): string {
  let url: URL;
  try {
    url = new URL(address);
  } catch (error) {
    throw new TfstateError(
      "TFSTATE_BACKEND_INVALID",
      'backend "http": "address" is not a valid URL',
      {
        cause: error,
      },
    );
  }
  if (url.protocol === "http:" || url.protocol === "https:") {
    return `${url.protocol}//${url.host}${url.pathname}`;
  }
  throw new TfstateError(
    "TFSTATE_BACKEND_INVALID",
    'backend "http": "address" is not a valid URL: http or https is required',
  );
}

/** An address with its query, which may say which state it is. */
function withoutUser(address: string): string {
  const url = new URL(address);
  url.username = "";
  url.password = "";
  url.hash = "";
  return serverIdentity(url.href);
}

/** The parts of an address that its place does not show: the password, and the values of the query. */
function secretsOf(address: string | undefined): string[] {
  const url = address === undefined ? null : URL.parse(address);
  if (url === null) return [];
  // As Node sends them, and as they are written.
  const user = urlToHttpOptions(url).auth ?? "";
  const password = user.slice(user.indexOf(":") + 1);
  return [url.password, user, password, ...url.searchParams.values()];
}

function onlyDefault(workspace: string): void {
  if (workspace === DEFAULT_WORKSPACE) return;
  throw new TfstateError(
    "TFSTATE_BACKEND_INVALID",
    `backend "http" has no workspaces, and "${workspace}" is selected`,
  );
}
