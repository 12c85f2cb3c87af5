import type { ProviderArchive, ProviderRelease } from "@stackwright/proto/stackwright";
import {
  type ArchiveLimits,
  archiveFilename,
  Platform,
  ProviderAddress,
  Version,
} from "@stackwright/provider-source";
import type { BlobReference } from "@stackwright/storage/blob";
import { writeAccountBlob } from "../domain/account-blobs.ts";
import type { RequestContext } from "../domain/model.ts";
import { type StoredRecord, writeOperation } from "../domain/record-store.ts";
import { retryCollisions } from "../domain/retry-collisions.ts";
import { invalidField, RegistryError } from "../errors.ts";
import type { Registry } from "../registry.ts";
import { checkArchive } from "./check-archive.ts";
import type { ReleaseKey } from "./file-tokens.ts";
import { findNamespace, ownNamespace, readNamespace, touchNamespace } from "./namespaces.ts";
import { isNamespaceName, isReleaseVersion, isTypeName } from "./release-name.ts";
import { type Release, releaseAt, releaseOf } from "./releases.ts";

/** What is published. */
interface Publication {
  readonly namespace: string;
  readonly type: string;
  readonly version: string;
  readonly platform: string;
  /** Protocols that the provider supports, such as `5.0`. */
  readonly protocols: readonly string[];
}

/** What may be published. */
export interface PublishLimits {
  /** Bytes of an archive. @default 1 GiB */
  readonly maxArchiveBytes?: number;
  /** Archives of one version. @default 64 */
  readonly maxPlatforms?: number;
  /** What an archive may unpack to. */
  readonly archive?: ArchiveLimits;
  /** How long an upload may stand still. @default 30,000 */
  readonly idleMs?: number;
}

const PROTOCOL = /^[56]\.[0-9]{1,3}$/;

/** A publication that was checked. */
interface CheckedPublication extends Publication {
  /** The account that publishes. */
  readonly account: string;
  readonly key: ReleaseKey;
  readonly filename: string;
  readonly parsedPlatform: Platform;
}

/**
 * Judges what is to be published before a byte of it is read. Throws `REGISTRY_INVALID_FIELD`, and
 * `REGISTRY_NOT_FOUND` where the namespace is not one of the account.
 */
export async function checkPublication(
  registry: Registry,
  account: string,
  publication: Publication,
): Promise<CheckedPublication> {
  const { namespace, type, version, platform, protocols } = publication;
  const address = parsed("type", () => ProviderAddress.parse(`${namespace}/${type}`));
  if (!isNamespaceName(namespace) || !isTypeName(type)) {
    const rule = "namespace and type are in lower case and have at most 64 characters";
    throw invalidField("type", "pattern", rule);
  }
  if (!isReleaseVersion(version)) {
    throw invalidField("version", "pattern", "a version is a semantic version");
  }
  const parsedPlatform = parsed("platform", () => Platform.parse(platform));
  if (platform.length > 64) throw invalidField("platform", "too-long", "a platform is short");
  if (
    protocols.length === 0 ||
    protocols.length > 8 ||
    !protocols.every((protocol) => PROTOCOL.test(protocol))
  ) {
    throw invalidField("protocols", "pattern", "protocols are of the form 5.0 or 6.0");
  }
  const found = await findNamespace(registry, namespace);
  const { releaseAccount } = ownNamespace(found, namespace, account);
  return {
    ...publication,
    account,
    key: { origin: "published", account: releaseAccount, name: `${namespace}/${type}/${version}` },
    filename: archiveFilename({
      address,
      version: Version.parse(version),
      platform: parsedPlatform,
    }),
    parsedPlatform,
  };
}

/**
 * Publishes an archive: stores its bytes, checks them, and adds it to its release. An archive never
 * changes: the same bytes again are success without effect, others are refused.
 *
 * Throws `REGISTRY_VERSION_EXISTS`, `REGISTRY_VERSION_RETIRED`, `REGISTRY_ARCHIVE_INVALID`,
 * `REGISTRY_ARCHIVE_TOO_LARGE`, `REGISTRY_QUOTA_EXCEEDED`.
 *
 * @param content the bytes, read once; `expected` is their digest where the client announced it
 * @returns whether anything was added
 */
export async function publishArchive(
  registry: Registry,
  region: string,
  publication: CheckedPublication,
  content: AsyncIterable<Uint8Array>,
  context: RequestContext,
  limits: PublishLimits,
  expected?: string,
): Promise<{ readonly added: boolean; readonly sha256: string; readonly h1: string }> {
  const { signal } = context;
  const callOptions = signal === undefined ? {} : { signal };
  const at = releaseAt(region, publication.key);
  const before = await registry.parts.records.read(at, callOptions);
  // An announced digest that cannot be added spares the transfer.
  if (expected !== undefined && before !== undefined) existing(before, publication, expected);

  const bounded = boundedContent(content, limits);
  const blob = await writeAccountBlob(registry.blobs, publication.account, bounded, {
    ...callOptions,
    ...(expected === undefined ? {} : { expected: { sha256: expected } }),
  }).catch((error: unknown) => {
    if ((error as { code?: unknown }).code === "STORAGE_INVALID_ARGUMENT") {
      throw new RegistryError(
        "REGISTRY_ARCHIVE_INVALID",
        "the archive has another digest than was announced",
        { cause: error },
      );
    }
    throw error;
  });
  if (before !== undefined) existing(before, publication, blob.sha256);
  const provider = { type: publication.type, platform: publication.parsedPlatform };
  const h1 = await checkArchive(registry.blobs, blob, provider, limits.archive ?? {}, signal);
  const added = await addArchive(registry, region, publication, { blob, h1 }, context, limits);
  return { added, sha256: blob.sha256, h1 };
}

async function addArchive(
  registry: Registry,
  region: string,
  publication: CheckedPublication,
  { blob, h1 }: { readonly blob: BlobReference; readonly h1: string },
  context: RequestContext,
  limits: PublishLimits,
): Promise<boolean> {
  const { records, audit, clock } = registry.parts;
  const at = releaseAt(region, publication.key);
  return retryCollisions(clock, context.signal, async () => {
    const namespace = await publishingNamespace(
      registry,
      publication.namespace,
      publication.account,
    );
    const stored = await records.read(at);
    const present = stored && existing(stored, publication, blob.sha256);
    if (stored !== undefined && present !== undefined && !stored.value.withdrawn) return false;
    const nowMs = BigInt(clock.wallMs());
    const before: ProviderRelease = stored?.value ?? {
      namespace: publication.namespace,
      type: publication.type,
      version: publication.version,
      archives: [],
      withdrawn: false,
      createTimeMs: nowMs,
      deprecation: "",
      withdrawTimeMs: 0n,
    };
    const archive: ProviderArchive = {
      platform: publication.platform,
      filename: publication.filename,
      sha256: blob.sha256,
      size: BigInt(blob.size),
      h1,
      protocols: [...publication.protocols],
      createTimeMs: nowMs,
    };
    const archives = present === undefined ? [...before.archives, archive] : before.archives;
    if (archives.length > (limits.maxPlatforms ?? 64)) {
      throw new RegistryError("REGISTRY_QUOTA_EXCEEDED", "the version has too many platforms");
    }
    await records.storage.batch([
      // The namespace must be the account's still, and must not be released for lack of releases.
      touchNamespace(namespace),
      writeOperation(at, { ...before, archives, withdrawn: false, withdrawTimeMs: 0n }, stored),
      audit.entry(at.tenancy, context, {
        action: "archive.publish",
        target: `${publication.key.name}/${publication.platform}`,
        details: { sha256: blob.sha256, h1 },
      }),
    ]);
    return true;
  });
}

/** The archive of the platform, if it is there with these bytes; throws if it is with others. */
function existing(
  { value }: StoredRecord<ProviderRelease>,
  publication: Publication,
  sha256: string,
): ProviderArchive | undefined {
  const found = value.archives.find(({ platform }) => platform === publication.platform);
  if (found === undefined || found.sha256 === sha256) {
    if (found === undefined && value.withdrawn) throw retired(publication);
    return found;
  }
  if (value.withdrawn) throw retired(publication);
  throw new RegistryError(
    "REGISTRY_VERSION_EXISTS",
    `${publication.version} for ${publication.platform} is published with other bytes; archives cannot be changed`,
  );
}

function retired({ version, platform }: Publication): RegistryError {
  return new RegistryError(
    "REGISTRY_VERSION_RETIRED",
    `${version} for ${platform} was withdrawn; only the same archive can come back`,
  );
}

/** The record of a namespace of the account. Throws `REGISTRY_NOT_FOUND`. */
async function publishingNamespace(registry: Registry, name: string, account: string) {
  const stored = await readNamespace(registry, name);
  ownNamespace(stored?.value, name, account);
  if (stored === undefined) throw new RegistryError("REGISTRY_NOT_FOUND");
  return stored;
}

/**
 * Withdraws a release of the account's namespace, or sets its deprecation. Throws `REGISTRY_NOT_FOUND`,
 * `REGISTRY_VERSION_NOT_FOUND`.
 */
export async function changeRelease(
  registry: Registry,
  region: string,
  release: { readonly namespace: string; readonly type: string; readonly version: string },
  account: string,
  change: { readonly withdrawn?: true; readonly deprecation?: string },
  context: RequestContext,
): Promise<Release> {
  const { records, audit, clock } = registry.parts;
  const { namespace, type, version } = release;
  return retryCollisions(clock, context.signal, async () => {
    const owned = await publishingNamespace(registry, namespace, account);
    if (!isTypeName(type) || !isReleaseVersion(version)) {
      throw new RegistryError("REGISTRY_VERSION_NOT_FOUND");
    }
    const { releaseAccount } = owned.value;
    const key: ReleaseKey = {
      origin: "published",
      account: releaseAccount === "" ? account : releaseAccount,
      name: `${namespace}/${type}/${version}`,
    };
    const at = releaseAt(region, key);
    const stored = await records.read(at);
    if (stored === undefined || stored.value.withdrawn) {
      throw new RegistryError("REGISTRY_VERSION_NOT_FOUND");
    }
    const withdrawTimeMs = change.withdrawn === true ? BigInt(clock.wallMs()) : 0n;
    const value = { ...stored.value, ...change, withdrawTimeMs };
    await records.storage.batch([
      touchNamespace(owned),
      writeOperation(at, value, stored),
      audit.entry(at.tenancy, context, {
        action: change.withdrawn === true ? "release.withdraw" : "release.deprecate",
        target: key.name,
      }),
    ]);
    return releaseOf(key, { value });
  });
}

/** The bytes of an upload, as far as there are not too many of them and they keep coming. */
async function* boundedContent(
  content: AsyncIterable<Uint8Array>,
  { maxArchiveBytes = 1024 ** 3, idleMs = 30_000 }: PublishLimits,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  const reader = content[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { promise: idle, reject } = Promise.withResolvers<never>();
      const timer = setTimeout(() => {
        reject(new RegistryError("REGISTRY_ARCHIVE_INVALID", "the upload stood still too long"));
      }, idleMs);
      const step = await Promise.race([reader.next(), idle]).finally(() => clearTimeout(timer));
      if (step.done === true) return;
      size += step.value.byteLength;
      if (size > maxArchiveBytes) {
        throw new RegistryError(
          "REGISTRY_ARCHIVE_TOO_LARGE",
          `an archive has at most ${maxArchiveBytes} bytes`,
        );
      }
      yield step.value;
    }
  } finally {
    // Not awaited: a stream that stands still would never answer.
    void reader.return?.();
  }
}

function parsed<T>(field: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw invalidField(field, "pattern", message);
  }
}
