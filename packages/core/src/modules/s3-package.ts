import { createWriteStream } from "node:fs";
import { mkdir, mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { S3Client, S3ClientConfig } from "@aws-sdk/client-s3";
import { ModuleError } from "@stackwright/lang";
import { archiveKind, unpackModule } from "./module-archive.ts";
import { checkModuleFile } from "./module-checksum.ts";
import { DEFAULT_MODULE_LIMITS, type ModuleLimits } from "./module-tree.ts";

interface S3Options {
  readonly env: NodeJS.ProcessEnv;
  readonly limits?: ModuleLimits;
  readonly signal: AbortSignal;
  /** How long a server may be silent. @default 60_000 */
  readonly idleMs?: number;
}

/** The objects that an address names. */
interface S3Address {
  readonly region: string;
  readonly bucket: string;
  readonly key: string;
  /** Of a server that only resembles S3. */
  readonly endpoint: string | undefined;
  readonly query: URLSearchParams;
}

const IDLE_MS = 60_000;

/** A server that does not answer ends the request: the SDK waits without end. */
function requestLimits(idleMs: number) {
  return {
    connectionTimeout: idleMs,
    requestTimeout: idleMs,
    socketTimeout: idleMs,
    throwOnRequestTimeout: true,
  };
}

/** Fetches a package from S3: one object that is an archive, or all objects below a prefix. */
export async function fetchS3(text: string, folder: string, options: S3Options): Promise<void> {
  const address = parseS3Address(text);
  const { S3Client: Client } = await import("@aws-sdk/client-s3");
  const client = new Client({
    ...(await configurationOf(address, options.env)),
    requestHandler: requestLimits(options.idleMs ?? IDLE_MS),
  });
  try {
    await fetchFrom(client, address, folder, options);
  } catch (error) {
    options.signal.throwIfAborted();
    if (error instanceof ModuleError) throw error;
    const problem = error instanceof Error ? error.message || error.name : String(error);
    throw failed(`S3 refused "${address.bucket}/${address.key}": ${problem}`, error);
  } finally {
    client.destroy();
  }
}

/** Reads the URL of an object: of Amazon with the bucket in the host or the path, of other servers with the bucket in the path. */
export function parseS3Address(text: string): S3Address {
  const url = new URL(text);
  const query = url.searchParams;
  const labels = url.hostname.split(".");
  const path = decodeURIComponent(url.pathname).replace(/^\/+/, "");
  if (!url.hostname.endsWith(".amazonaws.com")) {
    const [bucket = "", ...key] = path.split("/");
    return complete({
      region: query.get("region") ?? "us-east-1",
      bucket,
      key: key.join("/"),
      endpoint: url.origin,
      query,
    });
  }
  const service = labels.findLastIndex((label) => /^s3(?:$|-)/.test(label));
  const host = labels.slice(service, -2);
  if (service < 0) throw failed(`the host ${url.hostname} is not one of S3`);
  const own = labels.slice(0, service).join(".");
  const [first = "", ...rest] = path.split("/");
  const region =
    query.get("region") ?? host[1] ?? (/^s3-(.+)$/.exec(host[0] ?? "")?.[1] || "us-east-1");
  return complete({
    region,
    bucket: own === "" ? first : own,
    key: own === "" ? rest.join("/") : path,
    endpoint: undefined,
    query,
  });
}

function complete(address: S3Address): S3Address {
  if (address.bucket !== "" && address.key !== "") return address;
  throw failed("the address names no bucket and object");
}

/** Credentials of the address, else those of the environment, else what the SDK finds. */
async function configurationOf(
  { region, endpoint, query }: S3Address,
  env: NodeJS.ProcessEnv,
): Promise<S3ClientConfig> {
  const own = [query.get("aws_access_key_id"), query.get("aws_access_key_secret")];
  const outer = [env.AWS_ACCESS_KEY_ID, env.AWS_SECRET_ACCESS_KEY];
  const [accessKeyId, secretAccessKey] = own.every((part) => part !== null) ? own : outer;
  const sessionToken =
    accessKeyId === own[0] ? query.get("aws_access_token") : env.AWS_SESSION_TOKEN;
  const profile = query.get("aws_profile") ?? env.AWS_PROFILE;
  const { fromNodeProviderChain } = await import("@aws-sdk/credential-providers");
  return {
    region,
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    credentials:
      accessKeyId && secretAccessKey && query.get("aws_profile") === null
        ? { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) }
        : fromNodeProviderChain(profile === undefined ? {} : { profile }),
  };
}

async function fetchFrom(
  client: S3Client,
  address: S3Address,
  folder: string,
  { limits, signal }: S3Options,
): Promise<void> {
  const { bucket, key, query } = address;
  const { maxBytes, maxFiles } = { ...DEFAULT_MODULE_LIMITS, ...limits };
  const prefix = key.replace(/\/+$/, "");
  let left = maxBytes;
  const load = async (name: string, path: string, version?: string): Promise<void> => {
    left -= await download(client, { Bucket: bucket, Key: name, VersionId: version }, path, {
      maxBytes: left,
      signal,
    });
  };
  const kind = archiveKind(key, query.get("archive"));
  if (kind !== undefined) {
    await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-module-"));
    const path = join(scratch.path, "archive");
    await load(key, path, query.get("version") ?? undefined);
    const checksum = query.get("checksum");
    if (checksum !== null) {
      await checkModuleFile(path, basename(key), checksum, async () => {
        throw failed("a list of checksums cannot be read from S3");
      });
    }
    await unpackModule(path, kind, folder, { ...(limits && { limits }), signal });
    return;
  }
  if (query.has("checksum")) {
    throw new ModuleError(
      "Failed to download module",
      "A checksum can be given for archives only.",
    );
  }
  const names = await list(client, bucket, `${prefix}/`, maxFiles, signal);
  if (names.length === 0) throw failed(`there is no object below "${bucket}/${prefix}"`);
  for (const name of names) {
    const parts = name.slice(prefix.length + 1).split("/");
    // A name that ends in a slash stands for a folder.
    if (parts.at(-1) === "") continue;
    if (parts.some((part) => part === "" || part === "." || part === ".." || part.includes("\0"))) {
      throw failed(`the name of the object "${name}" leads out of the package`);
    }
    const path = join(folder, ...parts);
    await mkdir(dirname(path), { recursive: true });
    await load(name, path);
  }
}

async function list(
  client: S3Client,
  bucket: string,
  prefix: string,
  most: number,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { paginateListObjectsV2 } = await import("@aws-sdk/client-s3");
  const names: string[] = [];
  const pages = paginateListObjectsV2(
    { client },
    { Bucket: bucket, Prefix: prefix },
    { abortSignal: signal },
  );
  for await (const { Contents = [] } of pages) {
    signal.throwIfAborted();
    for (const { Key } of Contents) if (Key !== undefined) names.push(Key);
    if (names.length > most) throw failed(`there are more than ${most} objects below "${prefix}"`);
  }
  return names;
}

/** Returns the size of the object. */
async function download(
  client: S3Client,
  input: { readonly Bucket: string; readonly Key: string; readonly VersionId: string | undefined },
  path: string,
  { maxBytes, signal }: { readonly maxBytes: number; readonly signal: AbortSignal },
): Promise<number> {
  const { GetObjectCommand } = await import("@aws-sdk/client-s3");
  const { Body } = await client.send(new GetObjectCommand(input), { abortSignal: signal });
  if (!(Body instanceof Readable)) throw failed(`the object "${input.Key}" has no content`);
  let bytes = 0;
  await pipeline(
    Body,
    async function* bounded(source: AsyncIterable<Buffer>) {
      for await (const part of source) {
        bytes += part.length;
        if (bytes > maxBytes) throw failed("the package is larger than allowed");
        yield part;
      }
    },
    createWriteStream(path),
    { signal },
  );
  return bytes;
}

function failed(why: string, cause?: unknown): ModuleError {
  return new ModuleError("Failed to download module", `The package cannot be fetched: ${why}.`, {
    cause,
  });
}
