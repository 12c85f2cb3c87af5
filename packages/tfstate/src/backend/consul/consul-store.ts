import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { TfstateError } from "../../errors.ts";
import type { BackendArguments } from "../backend-arguments.ts";
import { requireNamedFile } from "../named-file.ts";
import type { OpenBackendOptions } from "../open-backend.ts";
import { serverIdentity } from "../server-identity.ts";
import type { BackendCall } from "../state-backend.ts";
import { MAX_STATE_BYTES } from "../state-bytes.ts";
import { answerError, sendRequest, type WebAnswer } from "../web-request.ts";

/** The value of a key, with the number of its last change. */
interface ConsulValue {
  readonly bytes: Buffer;
  readonly index: number;
}

/** Keys, transactions and sessions of one Consul agent, over its HTTP API. */
export interface ConsulStore {
  /** Address of the agent, and the data center. */
  readonly identity: string;
  get(key: string, call: BackendCall): Promise<ConsulValue | undefined>;
  put(key: string, bytes: Uint8Array | string, call: BackendCall): Promise<void>;
  /**
   * With `index` only where the key has not changed since, 0 standing for one that is not there; with `lock` only while its session has
   * it. Undefined where the value is too large for one key.
   */
  store(
    key: string,
    bytes: Uint8Array,
    call: BackendCall & {
      readonly index?: number | undefined;
      readonly lock?: { readonly key: string; readonly session: string } | undefined;
    },
  ): Promise<number | undefined>;
  remove(key: string, call: BackendCall & { readonly recurse?: boolean }): Promise<void>;
  /** Keys below a prefix, up to the next slash. */
  keys(prefix: string, call: BackendCall): Promise<readonly string[]>;
  createSession(ttlSeconds: number, call: BackendCall): Promise<string>;
  /** False where the session is gone. */
  renewSession(id: string, call: BackendCall): Promise<boolean>;
  destroySession(id: string, call: BackendCall): Promise<void>;
  /** Whether the session has the key then. */
  acquire(key: string, session: string, call: BackendCall): Promise<boolean>;
  /** A key that a session still had when it ended is free only some seconds later. */
  release(key: string, session: string, call: BackendCall): Promise<void>;
}

/** Marks keys that are locks, as the client library of Consul does. */
const LOCK_FLAG = "3304740253564472344";
const LOCK_DELAY = "5s";

/** The agent of a configuration. Nothing is contacted yet. */
export function consulStore(
  configuration: BackendArguments,
  { directory, env, filesWithin, maxBytes = MAX_STATE_BYTES }: OpenBackendOptions,
): ConsulStore {
  const option = (name: string, ...variables: string[]) => configuration.text(name, ...variables);
  const given = option("address", "CONSUL_HTTP_ADDR") ?? "127.0.0.1:8500";
  const secure = env["CONSUL_HTTP_SSL"] === "1" || env["CONSUL_HTTP_SSL"] === "true";
  const scheme = option("scheme") ?? (secure ? "https" : "http");
  const address = given.includes("://") ? given : `${scheme}://${given}`;
  const base = URL.parse(address);
  if (base === null || !["http:", "https:"].includes(base.protocol)) {
    throw configuration.invalid('"address" is not valid: a host and port, or an http(s) URL');
  }
  const token =
    option("access_token", "CONSUL_HTTP_TOKEN") ??
    fileText(env["CONSUL_HTTP_TOKEN_FILE"], "CONSUL_HTTP_TOKEN_FILE");
  const auth = option("http_auth", "CONSUL_HTTP_AUTH");
  const user = auth === undefined || auth.includes(":") ? auth : `${auth}:`;
  const verify = env["CONSUL_HTTP_SSL_VERIFY"];
  const security = {
    ca: fileText(option("ca_file", "CONSUL_CACERT"), "ca_file"),
    cert: fileText(option("cert_file", "CONSUL_CLIENT_CERT"), "cert_file"),
    key: fileText(option("key_file", "CONSUL_CLIENT_KEY"), "key_file"),
    insecure: verify === "0" || verify === "false",
  };
  const further: Record<string, string> = {};
  const datacenter = option("datacenter");
  if (datacenter !== undefined) further["dc"] = datacenter;
  const namespace = env["CONSUL_NAMESPACE"] ?? "";
  if (namespace !== "") further["ns"] = namespace;
  const shown = `consul ${base.host}`;
  const secrets = [token, user].filter((secret) => secret !== undefined);

  function fileText(path: string | undefined, name: string): string | undefined {
    if (path === undefined || path === "") return undefined;
    const file = resolve(directory, path);
    requireNamedFile(file, filesWithin, configuration);
    try {
      return readFileSync(file, "utf8").trim();
    } catch (error) {
      throw new TfstateError(
        "TFSTATE_BACKEND_INVALID",
        `backend "consul": the file of "${name}" is not readable`,
        { cause: error },
      );
    }
  }

  const call = async (
    method: string,
    path: string,
    { signal }: BackendCall,
    query: Readonly<Record<string, string>> = {},
    body?: Uint8Array | string,
  ): Promise<WebAnswer> => {
    const url = new URL(path, base);
    for (const [name, value] of Object.entries({ ...further, ...query }))
      url.searchParams.set(name, value);
    return sendRequest({
      method,
      url: url.href,
      signal,
      security,
      // Values are in base 64.
      maxBytes: 2 * maxBytes,
      headers: {
        ...(token !== undefined && { "X-Consul-Token": token }),
        ...(user !== undefined && {
          Authorization: `Basic ${Buffer.from(user).toString("base64")}`,
        }),
      },
      ...(body !== undefined && { body }),
    });
  };
  const kv = (key: string): string =>
    `/v1/kv/${withoutSlash(key).split("/").map(encodeURIComponent).join("/")}`;
  const failure = (what: string, answer: WebAnswer) => answerError(shown, what, answer, secrets);
  const done = (what: string, answer: WebAnswer): WebAnswer => {
    if (answer.status !== 200) throw failure(what, answer);
    return answer;
  };
  const json = (answer: WebAnswer): unknown => {
    try {
      return JSON.parse(answer.body.toString("utf8")) as unknown;
    } catch {
      throw new TfstateError("TFSTATE_BACKEND_UNAVAILABLE", `${shown}: the answer is not JSON`);
    }
  };

  return {
    identity: JSON.stringify([serverIdentity(base.origin), datacenter ?? "", namespace]),
    get: async (key, options) => {
      const answer = await call("GET", kv(key), options, { consistent: "" });
      if (answer.status === 404) return undefined;
      const [pair] = json(done("reading a key", answer)) as readonly {
        readonly Value: string | null;
        readonly ModifyIndex: number;
      }[];
      if (pair === undefined) return undefined;
      return { bytes: Buffer.from(pair.Value ?? "", "base64"), index: pair.ModifyIndex };
    },
    put: async (key, bytes, options) => {
      const answer = done("writing a key", await call("PUT", kv(key), options, {}, bytes));
      if (json(answer) !== true)
        throw new TfstateError("TFSTATE_BACKEND_UNAVAILABLE", `${shown}: the key was not written`);
    },
    store: async (key, bytes, { index, lock, ...options }) => {
      const operation = {
        Verb: index === undefined ? "set" : "cas",
        Key: withoutSlash(key),
        Value: Buffer.from(bytes).toString("base64"),
        ...(index !== undefined && { Index: index }),
      };
      const check = lock && {
        Verb: "check-session",
        Key: withoutSlash(lock.key),
        Session: lock.session,
      };
      const operations = check === undefined ? [operation] : [check, operation];
      const body = JSON.stringify(operations.map((KV) => ({ KV })));
      const answer = await call("PUT", "/v1/txn", options, {}, body);
      if (answer.status !== 200 && /too large|exceeds/i.test(answer.body.toString("utf8")))
        return undefined;
      if (answer.status === 409) {
        const { Errors: errors } = json(answer) as {
          readonly Errors?: readonly { readonly OpIndex: number }[] | null;
        };
        if (lock !== undefined && errors?.some(({ OpIndex }) => OpIndex === 0) === true) {
          throw new TfstateError(
            "TFSTATE_BACKEND_UNAVAILABLE",
            `${shown}: the lock of the state was lost: its session ended, so that another command may have it`,
          );
        }
        throw new TfstateError(
          "TFSTATE_BACKEND_UNAVAILABLE",
          `${shown}: the state was changed by another command since it was read`,
        );
      }
      const read = json(done("writing the state", answer)) as {
        readonly Results?: readonly { readonly KV?: { readonly ModifyIndex?: number } }[] | null;
      };
      return read.Results?.at(-1)?.KV?.ModifyIndex ?? 0;
    },
    remove: async (key, { recurse = false, ...options }) => {
      const query = recurse ? { recurse: "" } : {};
      done("removing a key", await call("DELETE", kv(key), options, query));
    },
    keys: async (prefix, options) => {
      const answer = await call("GET", kv(prefix), options, { keys: "", separator: "/" });
      if (answer.status === 404) return [];
      return json(done("listing keys", answer)) as readonly string[];
    },
    createSession: async (ttlSeconds, options) => {
      const body = JSON.stringify({
        Name: "Consul API Lock",
        TTL: `${ttlSeconds}s`,
        LockDelay: LOCK_DELAY,
      });
      const answer = await call("PUT", "/v1/session/create", options, {}, body);
      return (json(done("creating a session", answer)) as { readonly ID: string }).ID;
    },
    renewSession: async (id, options) => {
      const answer = await call("PUT", `/v1/session/renew/${encodeURIComponent(id)}`, options);
      return answer.status === 200;
    },
    destroySession: async (id, options) => {
      const path = `/v1/session/destroy/${encodeURIComponent(id)}`;
      done("ending a session", await call("PUT", path, options));
    },
    acquire: async (key, session, options) => {
      const query = { acquire: session, flags: LOCK_FLAG };
      return json(done("acquiring the lock", await call("PUT", kv(key), options, query))) === true;
    },
    release: async (key, session, options) => {
      const query = { release: session, flags: LOCK_FLAG };
      done("releasing the lock", await call("PUT", kv(key), options, query));
    },
  };
}

function withoutSlash(key: string): string {
  return key.replace(/^\//, "");
}
