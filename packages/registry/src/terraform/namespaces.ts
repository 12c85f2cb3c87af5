import { RegistryNamespace } from "@stackwright/proto/stackwright";
import { PRIVATE_NAMESPACE, ProviderAddress } from "@stackwright/provider-source";
import { type CallOptions, isStorageError } from "@stackwright/storage";
import type { RequestContext } from "../domain/model.ts";
import { type RecordName, recordKind, writeOperation } from "../domain/record-store.ts";
import { checkAccount, SYSTEM_TENANCY } from "../domain/scope.ts";
import { invalidField, RegistryError } from "../errors.ts";
import type { Registry } from "../registry.ts";

const NAMESPACE = recordKind("RegistryNamespace", RegistryNamespace);

/** A namespace of published providers. */
export interface Namespace {
  readonly name: string;
  /** The account that may publish in it. */
  readonly account: string;
  /** Whether anybody may install from it; else only its account. */
  readonly public: boolean;
}

/** The namespace of this name; `undefined` if nobody has it. */
export async function findNamespace(
  registry: Registry,
  name: string,
  options: CallOptions = {},
): Promise<Namespace | undefined> {
  const stored = await registry.parts.records.read(namespaceAt(name), options);
  return stored && { name, account: stored.value.account, public: stored.value.public };
}

/**
 * Gives a namespace to an account, or sets whether it is public. Throws `REGISTRY_NAMESPACE_TAKEN` when
 * another account has it, `REGISTRY_INVALID_FIELD` for names that no address can have.
 */
export async function claimNamespace(
  registry: Registry,
  { name, account, public: isPublic }: Namespace,
  context: RequestContext,
): Promise<void> {
  checkAccount(account);
  checkNamespaceName(name);
  const { records, audit, scheduler } = registry.parts;
  const stored = await records.read(namespaceAt(name));
  if (stored !== undefined && stored.value.account !== account) throw taken(name);
  const createTimeMs = stored?.value.createTimeMs ?? BigInt(scheduler.wallMs());
  const value: RegistryNamespace = { namespace: name, account, public: isPublic, createTimeMs };
  try {
    await records.storage.batch([
      writeOperation(namespaceAt(name), value, stored),
      audit.entry(SYSTEM_TENANCY, context, {
        action: "namespace.claim",
        target: name,
        details: { account, public: String(isPublic) },
      }),
    ]);
  } catch (error) {
    if (isStorageError(error, "STORAGE_CAS_FAILURE", "STORAGE_WRONG_UID")) throw taken(name);
    throw error;
  }
}

function checkNamespaceName(name: string): void {
  const canonical = canonicalNamespace(name);
  if (canonical !== name || name === PRIVATE_NAMESPACE || name.length > 64) {
    throw invalidField(
      "namespace",
      "pattern",
      "a namespace consists of lower-case letters, digits and single dashes",
    );
  }
}

/** A namespace as addresses have it; `undefined` for what none can have. */
export function canonicalNamespace(name: string): string | undefined {
  try {
    return ProviderAddress.parse(`${name}/x`).namespace;
  } catch {
    return undefined;
  }
}

function namespaceAt(name: string): RecordName<RegistryNamespace> {
  return { kind: NAMESPACE, tenancy: SYSTEM_TENANCY, name };
}

function taken(name: string): RegistryError {
  return new RegistryError(
    "REGISTRY_NAMESPACE_TAKEN",
    `the namespace "${name}" belongs to another account`,
  );
}
