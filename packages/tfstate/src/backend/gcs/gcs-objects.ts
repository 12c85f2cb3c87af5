import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { TfstateError } from "../../errors.ts";
import type { BackendArguments } from "../backend-arguments.ts";
import { requireNamedFile } from "../named-file.ts";
import { serverIdentity } from "../server-identity.ts";
import type { BackendCall } from "../state-backend.ts";
import { answerError, sendRequest, type WebAnswer } from "../web-request.ts";
import { type GcsEnvironment, gcsTokens, type TokenSource } from "./gcs-credentials.ts";

/** An object of a bucket as it is stored. */
interface GcsObject {
  readonly bytes: Buffer;
  /** Number of its version. */
  readonly generation: string;
}

/** The objects of one bucket. Places name an object in messages. */
interface GcsObjects {
  /** Address of the service. */
  readonly base: string;
  read(
    name: string,
    place: string,
    options: BackendCall & { readonly encrypted: boolean },
  ): Promise<GcsObject | undefined>;
  /** Writes an object; with `onlyNew` only where there is none. Its generation; undefined where there is one. */
  write(
    name: string,
    place: string,
    bytes: Uint8Array | string,
    options: BackendCall & { readonly encrypted: boolean; readonly onlyNew: boolean },
  ): Promise<string | undefined>;
  /** Removes an object where it still has this generation. */
  remove(name: string, place: string, generation: string, call: BackendCall): Promise<void>;
  /** Names below a prefix, without those of deeper folders. */
  list(prefix: string, call: BackendCall): Promise<readonly string[]>;
}

const GOOGLE = "https://storage.googleapis.com/storage/v1/";
/** Of a thousand names each. */
const MAX_PAGES = 1_000;

/** The bucket of a configuration, over the JSON API of the storage. Nothing is contacted yet. */
export function gcsObjects(
  configuration: BackendArguments,
  bucket: string,
  environment: GcsEnvironment,
): GcsObjects {
  const { base, anonymous } = endpoint(configuration, environment.env);
  const upload = new URL(base);
  upload.pathname = `/upload${upload.pathname}`;
  const tokens: TokenSource | undefined = anonymous
    ? undefined
    : gcsTokens(configuration, environment);
  const keyHeaders = customerKey(configuration, environment);
  const kms = configuration.text("kms_encryption_key", "GOOGLE_KMS_ENCRYPTION_KEY");
  if (kms !== undefined && Object.keys(keyHeaders).length > 0) {
    throw configuration.invalid('"encryption_key" and "kms_encryption_key" exclude each other');
  }
  const home = `b/${encodeURIComponent(bucket)}/o`;

  const call = async (
    method: string,
    url: URL,
    { signal }: BackendCall,
    headers: Readonly<Record<string, string>> = {},
    body?: Uint8Array | string,
  ): Promise<WebAnswer> =>
    sendRequest({
      method,
      url: url.href,
      signal,
      maxBytes: environment.maxBytes,
      headers: {
        ...headers,
        ...(tokens !== undefined && { Authorization: `Bearer ${await tokens({ signal })}` }),
      },
      ...(body !== undefined && { body }),
    });
  const at = (from: URL, path: string, query: Readonly<Record<string, string>>): URL => {
    const url = new URL(path, from);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    return url;
  };
  const listPage = async (
    query: Readonly<Record<string, string>>,
    options: BackendCall,
  ): Promise<Page> => {
    const place = `gcs bucket ${bucket}`;
    const answer = await call("GET", at(base, home, query), options);
    if (answer.status === 404) {
      throw new TfstateError("TFSTATE_BACKEND_INVALID", `${place}: the bucket does not exist`);
    }
    if (answer.status !== 200) throw answerError(place, "listing the workspaces", answer);
    return pageOf(answer, place);
  };

  return {
    base: serverIdentity(base.href),
    read: async (name, place, { signal, encrypted }) => {
      const url = at(base, `${home}/${encodeURIComponent(name)}`, { alt: "media" });
      const answer = await call("GET", url, { signal }, encrypted ? keyHeaders : {});
      if (answer.status === 404) {
        // The answer is the same where the bucket does not exist, and that is no empty state.
        await listPage({ maxResults: "1" }, { signal });
        return undefined;
      }
      if (answer.status !== 200) throw answerError(place, "reading the object", answer);
      requireDigest(answer, place);
      return { bytes: answer.body, generation: answer.headers.get("x-goog-generation") ?? "" };
    },
    write: async (name, place, bytes, { signal, encrypted, onlyNew }) => {
      const query = {
        uploadType: "media",
        name,
        ...(onlyNew && { ifGenerationMatch: "0" }),
        ...(encrypted && kms !== undefined && { kmsKeyName: kms }),
      };
      const headers = { "Content-Type": "application/json", ...(encrypted ? keyHeaders : {}) };
      const answer = await call("POST", at(upload, home, query), { signal }, headers, bytes);
      if (onlyNew && answer.status === 412) return undefined;
      if (answer.status !== 200) throw answerError(place, "writing the object", answer);
      return generationOf(answer, place);
    },
    remove: async (name, place, generation, { signal }) => {
      const query = { ifGenerationMatch: generation };
      const url = at(base, `${home}/${encodeURIComponent(name)}`, query);
      const answer = await call("DELETE", url, { signal });
      // Removed before, or another one since: what was meant is not there.
      if ([200, 204, 404, 412].includes(answer.status)) return;
      throw answerError(place, "removing the object", answer);
    },
    list: async (prefix, { signal }) => {
      const names: string[] = [];
      let token = "";
      for (let page = 0; page < MAX_PAGES; page += 1) {
        const query = { prefix, delimiter: "/", fields: "nextPageToken,items(name)" };
        const found = await listPage(
          { ...query, ...(token !== "" && { pageToken: token }) },
          { signal },
        );
        names.push(...found.names);
        token = found.next;
        if (token === "") return names;
      }
      throw new TfstateError(
        "TFSTATE_BACKEND_UNAVAILABLE",
        `gcs bucket ${bucket}: the list of objects below "${prefix}" has more than ${MAX_PAGES} pages`,
      );
    },
  };
}

/** An emulator takes no credentials; an endpoint of the configuration does. */
function endpoint(
  configuration: BackendArguments,
  env: NodeJS.ProcessEnv,
): { readonly base: URL; readonly anonymous: boolean } {
  const custom = configuration.text(
    "storage_custom_endpoint",
    "GOOGLE_BACKEND_STORAGE_CUSTOM_ENDPOINT",
    "GOOGLE_STORAGE_CUSTOM_ENDPOINT",
  );
  const emulator = env["STORAGE_EMULATOR_HOST"] ?? "";
  const anonymous = custom === undefined && emulator !== "";
  const text = anonymous
    ? `${emulator.includes("://") ? emulator : `http://${emulator}`}/storage/v1/`
    : (custom ?? GOOGLE);
  const name = anonymous ? "STORAGE_EMULATOR_HOST" : '"storage_custom_endpoint"';
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol)) {
    throw configuration.invalid(`${name} is not a valid URL: http or https is required`);
  }
  url.pathname = `${url.pathname.replace(/\/+/g, "/").replace(/\/$/, "")}/`;
  return { base: url, anonymous };
}

/** Headers of a key that the user has: 32 bytes in base64, or the path of a file with them. */
function customerKey(
  configuration: BackendArguments,
  { directory, filesWithin }: GcsEnvironment,
): Readonly<Record<string, string>> {
  const given = configuration.text("encryption_key", "GOOGLE_ENCRYPTION_KEY");
  if (given === undefined) return {};
  const key = Buffer.from(isKey(given) ? given : keyFile(given), "base64");
  if (key.length !== 32) {
    throw configuration.invalid('"encryption_key" is not valid: 32 bytes in base64 are required');
  }
  return {
    "x-goog-encryption-algorithm": "AES256",
    "x-goog-encryption-key": key.toString("base64"),
    "x-goog-encryption-key-sha256": createHash("sha256").update(key).digest("base64"),
  };

  function keyFile(path: string): string {
    const file = resolve(directory, path);
    requireNamedFile(file, filesWithin, configuration);
    try {
      return readFileSync(file, "utf8").trim();
    } catch {
      // Neither a key nor a path; what it is stays secret.
      return "";
    }
  }
}

function isKey(text: string): boolean {
  return /^[A-Za-z0-9+/]{43}=$/.test(text.trim());
}

interface Page {
  readonly names: readonly string[];
  readonly next: string;
}

function pageOf({ body }: WebAnswer, place: string): Page {
  const read = jsonOf(body, place);
  const items = Array.isArray(read["items"]) ? (read["items"] as readonly unknown[]) : [];
  const names = items.flatMap((item) => {
    const name = (item as { readonly name?: unknown } | null)?.name;
    return typeof name === "string" ? [name] : [];
  });
  const next = read["nextPageToken"];
  return { names, next: typeof next === "string" ? next : "" };
}

function generationOf({ body }: WebAnswer, place: string): string {
  const { generation } = jsonOf(body, place);
  if (typeof generation === "string" && /^\d{1,20}$/.test(generation)) return generation;
  throw new TfstateError("TFSTATE_BACKEND_UNAVAILABLE", `${place}: the answer has no generation`);
}

function jsonOf(body: Buffer, place: string): Readonly<Record<string, unknown>> {
  try {
    const read: unknown = JSON.parse(body.toString("utf8"));
    if (typeof read === "object" && read !== null) return read as Record<string, unknown>;
  } catch {
    // The message below says it.
  }
  throw new TfstateError("TFSTATE_BACKEND_UNAVAILABLE", `${place}: the answer is not JSON`);
}

/** The storage says the digest of what it has; a transport that decompressed it has other bytes. */
function requireDigest({ headers, body }: WebAnswer, place: string): void {
  if (headers.get("x-goog-stored-content-encoding") === "gzip") return;
  const expected = /(?:^|[\s,])md5=([A-Za-z0-9+/=]+)/.exec(headers.get("x-goog-hash") ?? "")?.[1];
  if (expected === undefined) return;
  const found = createHash("md5").update(body).digest("base64");
  if (found === expected) return;
  throw new TfstateError(
    "TFSTATE_BACKEND_DIGEST",
    `${place}: the object has the digest ${found}, and the storage has recorded ${expected}`,
  );
}
