import { isEngineError } from "@stackwright/core/errors";
import { isRegistryError } from "@stackwright/registry";
import { isStorageError, type Resource, type StorageBackend, WILDCARD } from "@stackwright/storage";
import { decodeRecord, type RecordKind } from "../domain/record-kind.ts";
import { listReadable } from "../queue/list-readable.ts";
import { type Finding, finding } from "./finding.ts";

/** A record of a project, or of one of its stacks. */
interface ProjectRecord<M> {
  readonly project: string;
  readonly name: string;
  /** What the name begins with: in most kinds the id of the stack. */
  readonly owner: string;
  readonly message: M;
}

/** The records of the projects of one account. Damage of one is a finding, and keeps nothing from being examined. */
export class AccountRecords {
  readonly damage: Finding[] = [];
  readonly #storage: StorageBackend;
  readonly #account: string;
  readonly #signal: AbortSignal;

  constructor(storage: StorageBackend, account: string, signal: AbortSignal) {
    this.#storage = storage;
    this.#account = account;
    this.#signal = signal;
  }

  async list<M>(kind: RecordKind<M>): Promise<readonly ProjectRecord<M>[]> {
    const where = { partition: this.#account, peerName: WILDCARD, namespace: WILDCARD };
    const found = await listReadable(this.#storage, kind, where, {
      signal: this.#signal,
      onDamaged: ({ tenancy, name }, reason) =>
        this.#damaged(kind, tenancy.namespace, name, reason),
    });
    return found.map(({ id: { tenancy, name }, message }) => ({
      project: tenancy.namespace,
      name,
      owner: name.split(".", 1)[0] ?? "",
      message,
    }));
  }

  /** One record, where there is one that can be read. */
  async readOne<M>(
    kind: RecordKind<M>,
    project: string,
    read: () => Promise<Resource | undefined>,
  ): Promise<M | undefined> {
    try {
      const found = await read();
      return found && this.#decode(kind, found);
    } catch (error) {
      if (!isStorageError(error, "STORAGE_CORRUPT")) throw error;
      const { name = "" } = (error.details as { id?: { name?: string } } | undefined)?.id ?? {};
      this.#damaged(kind, project, name, error.message);
      return undefined;
    }
  }

  /** What reads the records of all accounts found, or nothing where one of them is damaged; `name` stands for it before those who may not see it. */
  async unlessDamaged(
    work: () => Promise<readonly Finding[]>,
    name?: string,
  ): Promise<readonly Finding[]> {
    try {
      return await work();
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.damage.push(
        finding("record_damaged", name ?? `a record cannot be read: ${error.message}`),
      );
      return [];
    }
  }

  #decode<M>(kind: RecordKind<M>, resource: Resource): M | undefined {
    try {
      return decodeRecord(kind, resource);
    } catch {
      const { tenancy, name } = resource.id;
      this.#damaged(kind, tenancy.namespace, name, "it is of another kind, or cut");
      return undefined;
    }
  }

  #damaged({ type }: RecordKind<unknown>, project: string, name: string, why: string): void {
    const detail = `the record ${type.kind} "${name}" cannot be read: ${why}`;
    this.damage.push(finding("record_damaged", detail, project === "" ? {} : { project }));
  }
}

function isDamage(error: unknown): error is Error {
  return (
    isStorageError(error, "STORAGE_CORRUPT") ||
    isEngineError(error, "ENGINE_STATE_CORRUPT") ||
    isRegistryError(error, "REGISTRY_CORRUPT")
  );
}
