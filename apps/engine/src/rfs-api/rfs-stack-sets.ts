import {
  RfsStackInstance_Phase,
  RfsStackSetOperation_Action,
  RfsStackSetOperation_Phase,
  type RfsStackSetValues,
  type RfsStackSetOperation as StoredOperation,
  type RfsStackSet as StoredSet,
} from "@stackwright/proto/stackwright";
import {
  type NewRfsSetOperation,
  type RfsInstancePhase,
  type RfsOverrides,
  type RfsSetAction,
  type RfsSetOperation,
  type RfsShare,
  type RfsStackInstance,
  type RfsStackSet,
  RfsStacksError,
  type RfsTarget,
  type RfsTemplateFile,
  type StackSetPort,
} from "@stackwright/rfs-stacks";
import { readStored } from "@stackwright/storage";
import { accountTenancy } from "../access/access-places.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { idOf, type StoredRow, type Transaction, transact } from "../queue/transaction.ts";
import { removeAll } from "./remove-rfs-stack.ts";
import type { RfsParts } from "./rfs-parts.ts";
import {
  openSetValues,
  requireRoom,
  type StackSetReference,
  sealSetValues,
  setCountPlace,
  setOperationPlace,
  stackSetPlace,
  usedOverrides,
} from "./stack-set-places.ts";

/** Stack sets of an account, as on the service. */
const MAX_SETS = 100;
/** Instances of one. */
const MAX_INSTANCES = 200;
/** Operations of a set at the same time, as on the service. */
const MAX_OPEN = 10;
/** Operations that have ended and are kept. */
const KEPT_OPERATIONS = 50;
/** Those that one request removes: a step has a bound. */
const REMOVED_AT_ONCE = 5;

const ACTIONS: Readonly<Record<RfsSetAction, RfsStackSetOperation_Action>> = {
  CREATE_STACK_INSTANCES: RfsStackSetOperation_Action.ACTION_CREATE_INSTANCES,
  UPDATE_STACK_INSTANCES: RfsStackSetOperation_Action.ACTION_UPDATE_INSTANCES,
  DELETE_STACK_INSTANCES: RfsStackSetOperation_Action.ACTION_DELETE_INSTANCES,
  DEPLOY_STACK_SET: RfsStackSetOperation_Action.ACTION_DEPLOY_SET,
};

/** Stack sets of the RFS API: records of the account, whose operations the servers carry out. */
export function rfsStackSets(parts: RfsParts): StackSetPort {
  const { storage, blobs, keys } = parts;
  const { rfsStackSet, rfsStackSetCount, rfsStackSetOperation } = SERVER_KINDS;

  const read = async (reference: StackSetReference): Promise<StoredSet | undefined> => {
    const id = idOf(rfsStackSet, stackSetPlace(reference));
    const found = await readStored(storage, "strong", id);
    return found && decodeRecord(rfsStackSet, found);
  };
  const requireFewer = async (account: string): Promise<void> => {
    const tenancy = accountTenancy(account);
    const all = await storage.list("strong", rfsStackSet.type, tenancy, "");
    if (all.length < MAX_SETS) return;
    throw new RfsStacksError(
      "RFS_LIMIT_REACHED",
      `the account has ${MAX_SETS} stack sets; delete one first`,
    );
  };
  const store = async (
    account: string,
    { content }: RfsTemplateFile,
    signal: AbortSignal,
  ): Promise<string> => {
    const bytes = async function* () {
      yield content;
    };
    return (await blobs.write(bytes(), { signal, owner: account })).sha256;
  };
  const fileOf = async ({ templateSha256, templateFileName }: StoredSet) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of blobs.read(templateSha256)) chunks.push(chunk);
    return { fileName: templateFileName, content: Buffer.concat(chunks) };
  };
  const listOperations = async (account: string, set: string) => {
    const { tenancy, name: prefix } = setOperationPlace(account, set, "");
    const found = await storage.list("strong", rfsStackSetOperation.type, tenancy, prefix);
    return found
      .map((resource) => decodeRecord(rfsStackSetOperation, resource))
      .toSorted((a, b) => (a.id < b.id ? 1 : -1));
  };
  /** The set as it was found; another one may have its name by now. */
  const rowOf = async (
    tx: Transaction,
    account: string,
    { name, id }: RfsStackSet,
  ): Promise<StoredRow<StoredSet>> => {
    const row = await tx.find(rfsStackSet, stackSetPlace({ account, name }));
    if (row?.message.id === id) return row;
    throw new ServerError("not_found", "the stack set was deleted");
  };

  return {
    find: async ({ account }, name) => {
      const found = await read({ account, name });
      return found && viewOf(name, found);
    },
    list: async ({ account }) => {
      const found = await storage.list("strong", rfsStackSet.type, accountTenancy(account), "");
      return found
        .map((resource) => viewOf(resource.id.name, decodeRecord(rfsStackSet, resource)))
        .toSorted((a, b) => b.createdAtMs - a.createdAtMs);
    },
    create: async ({ account }, { name, template, ...settings }, signal) => {
      await requireFewer(account);
      const templateSha256 = await store(account, template.file, signal);
      const values = await sealSetValues(keys, account, parts.token(), template.variables);
      const id = parts.token();
      return transact(parts, async (tx) => {
        const place = stackSetPlace({ account, name });
        if ((await tx.find(rfsStackSet, place)) !== undefined) return undefined;
        // Read before the sets are counted: of two at once the second one finds it changed, and counts again.
        const count = await tx.findOrNew(rfsStackSetCount, setCountPlace(account), () => ({
          created: 0n,
        }));
        tx.update(count, { created: count.message.created + 1n });
        await requireFewer(account);
        requireRoom(values, []);
        const at = BigInt(tx.nowMs);
        tx.create(rfsStackSet, place, {
          ...settings,
          id,
          createdAtMs: at,
          updatedAtMs: at,
          templateSha256,
          templateFileName: template.file.fileName,
          values,
          instances: [],
          overrides: [],
          openOperations: [],
        });
        return id;
      });
    },
    change: async ({ account }, set, change) =>
      transact(parts, async (tx) => {
        const row = await rowOf(tx, account, set);
        if (row.message.openOperations.length > 0) return false;
        const given = Object.entries(change).filter(([, value]) => value !== undefined);
        tx.update(row, { ...Object.fromEntries(given), updatedAtMs: BigInt(tx.nowMs) });
        return true;
      }),
    remove: async ({ account }, set) => {
      const outcome = await transact(parts, async (tx) => {
        const row = await rowOf(tx, account, set);
        if (row.message.openOperations.length > 0) return "busy";
        if (row.message.instances.length > 0) return "instances";
        tx.remove(row);
        return "removed";
      });
      if (outcome === "removed") {
        await removeAll(parts, rfsStackSetOperation, setOperationPlace(account, set.id, ""));
      }
      return outcome;
    },
    template: async ({ account }, set) => {
      const found = await read({ account, name: set.name });
      if (found?.id === set.id) return fileOf(found);
      throw new ServerError("not_found", "the stack set was deleted");
    },
    operations: async ({ account }, set) =>
      (await listOperations(account, set.id)).map(operationView),
    begin: async ({ account, actor }, set, given, signal) => {
      const { template } = given;
      const stored = template && {
        templateSha256: await store(account, template.file, signal),
        templateFileName: template.file.fileName,
        values: await sealSetValues(keys, account, parts.token(), template.variables),
      };
      const former = await read({ account, name: set.name });
      const overrides = await overridden(parts, account, former, given);
      const old = await listOperations(account, set.id);
      const id = parts.token();
      return transact(parts, async (tx) => {
        const row = await rowOf(tx, account, set);
        const { openOperations, parallelOperations, instances } = row.message;
        if (openOperations.length > 0 && !parallelOperations) return "busy";
        if (openOperations.length >= MAX_OPEN) return "many";
        const at = BigInt(tx.nowMs);
        const values = new Map<string, RfsStackSetValues>();
        const isNew = given.action === "CREATE_STACK_INSTANCES";
        const chosen = new Map(
          given.targets.map((target) => {
            const known = instanceAt(instances, target);
            requireFit(target, known !== undefined, isNew);
            // Those that were overridden otherwise meanwhile would get values of before.
            if (known?.overrides !== overrides.formerOf(target))
              throw new ServerError("conflict", "the instances were changed meanwhile; try again");
            const own = overrides.of(target);
            if (own !== undefined) values.set(own.id, own);
            const instance = {
              ...(known ?? newInstance(row.message, set.name, target, at)),
              phase: RfsStackInstance_Phase.PHASE_WAITING,
              message: "",
              operation: id,
              updatedAtMs: at,
              overrides: own?.id ?? "",
            };
            return [keyOf(target), instance];
          }),
        );
        const next = [
          ...instances.map((one) => chosen.get(keyOf(one)) ?? one),
          ...(isNew ? chosen.values() : []),
        ];
        if (next.length > MAX_INSTANCES) {
          throw new RfsStacksError(
            "RFS_LIMIT_REACHED",
            `a stack set has at most ${MAX_INSTANCES} instances`,
          );
        }
        const used = usedOverrides(next, [...row.message.overrides, ...values.values()]);
        if (stored !== undefined || given.overrides !== undefined) {
          requireRoom(stored === undefined ? row.message.values : stored.values, used);
        }
        tx.update(row, {
          ...stored,
          instances: next,
          overrides: used,
          openOperations: [...openOperations, id],
          updatedAtMs: at,
        });
        tx.create(
          rfsStackSetOperation,
          setOperationPlace(account, set.id, id),
          newOperation(given, { id, setName: set.name, actor, at }),
        );
        const ended = old.filter((one) => !openOperations.includes(one.id));
        for (const one of ended.slice(KEPT_OPERATIONS - 1).slice(-REMOVED_AT_ONCE)) {
          const place = setOperationPlace(account, set.id, one.id);
          const kept = await tx.find(rfsStackSetOperation, place);
          if (kept !== undefined) tx.remove(kept);
        }
        return { id };
      });
    },
    templateFile: async ({ account, set: name, id }) => {
      const found = await read({ account, name });
      return found?.id === id ? fileOf(found) : undefined;
    },
  };
}

/** What the targets of an operation are overridden with from then on: instances with the same values before have the same ones after. */
async function overridden(
  { keys, token }: RfsParts,
  account: string,
  set: StoredSet | undefined,
  { targets, overrides, action }: NewRfsSetOperation,
) {
  const instances = set?.instances ?? [];
  const isNew = action === "CREATE_STACK_INSTANCES";
  const formerOf = (target: RfsTarget): string | undefined =>
    isNew ? undefined : (instanceAt(instances, target)?.overrides ?? undefined);
  const known = new Map(set?.overrides.map((values) => [values.id, values]));
  const next = new Map<string, RfsStackSetValues | undefined>();
  for (const former of new Set(targets.map((target) => formerOf(target) ?? ""))) {
    const before = known.get(former);
    next.set(
      former,
      overrides === undefined
        ? before
        : await sealSetValues(
            keys,
            account,
            token(),
            merged(await openSetValues(keys, account, before), overrides),
          ),
    );
  }
  return {
    formerOf,
    of: (target: RfsTarget): RfsStackSetValues | undefined => next.get(formerOf(target) ?? ""),
  };
}

function merged(
  before: ReadonlyMap<string, string>,
  { values, dropped }: RfsOverrides,
): ReadonlyMap<string, string> {
  const kept = [...before].filter(([name]) => !dropped.includes(name));
  return new Map([...kept, ...values]);
}

/** `conflict` for a target that has come or gone since the request was checked. */
function requireFit({ project, region }: RfsTarget, exists: boolean, isNew: boolean): void {
  if (exists !== isNew) return;
  const what = isNew ? "an" : "no";
  throw new ServerError(
    "conflict",
    `by now the stack set has ${what} instance in the project "${project}" and the region "${region}"`,
  );
}

function newInstance(
  { id }: StoredSet,
  setName: string,
  { project, region }: RfsTarget,
  at: bigint,
) {
  return {
    project,
    region,
    stack: "",
    // By the id, so that another set of the name has another one. A stack of a user that has it all the same is left alone.
    stackName: `stackset-${setName.slice(0, 32)}-${id.slice(-10).toLowerCase()}-${region}`,
    createdAtMs: at,
  };
}

function newOperation(
  { action, targets, preferences }: NewRfsSetOperation,
  given: {
    readonly id: string;
    readonly setName: string;
    readonly actor: string;
    readonly at: bigint;
  },
): StoredOperation {
  const { id, setName, actor, at } = given;
  const { regionOrder: order } = preferences;
  const placeOf = ({ region }: RfsTarget) => order?.indexOf(region) ?? 0;
  return {
    id,
    setName,
    action: ACTIONS[action],
    phase: RfsStackSetOperation_Phase.PHASE_QUEUED,
    message: "",
    actor,
    createdAtMs: at,
    updatedAtMs: at,
    members: targets
      .toSorted((a, b) => placeOf(a) - placeOf(b))
      .map(({ project, region }) => ({
        project,
        region,
        phase: RfsStackInstance_Phase.PHASE_WAITING,
        run: "",
        requested: false,
        message: "",
      })),
    sequential: preferences.isSequential,
    tolerance: storedShare(preferences.tolerance),
    concurrency: storedShare(preferences.concurrency),
    soft: preferences.isSoft,
    ordered: order !== undefined,
  };
}

function storedShare({ amount, isPercent: percent }: RfsShare) {
  return { amount, percent };
}

function keyOf({ project, region }: RfsTarget): string {
  return `${region}\0${project}`;
}

function instanceAt(instances: StoredSet["instances"], target: RfsTarget) {
  return instances.find((one) => keyOf(one) === keyOf(target));
}

const PHASES: ReadonlyMap<RfsStackInstance_Phase, RfsInstancePhase> = new Map([
  [RfsStackInstance_Phase.PHASE_WAITING, "waiting"],
  [RfsStackInstance_Phase.PHASE_RUNNING, "running"],
  [RfsStackInstance_Phase.PHASE_COMPLETE, "complete"],
  [RfsStackInstance_Phase.PHASE_FAILED, "failed"],
  [RfsStackInstance_Phase.PHASE_CANCELED, "canceled"],
]);

function viewOf(name: string, set: StoredSet): RfsStackSet {
  return {
    id: set.id,
    name,
    description: set.description,
    initialStackDescription: set.initialStackDescription,
    administrationAgencyName: set.administrationAgencyName,
    administrationAgencyUrn: set.administrationAgencyUrn,
    managedAgencyName: set.managedAgencyName,
    parallelOperations: set.parallelOperations,
    createdAtMs: Number(set.createdAtMs),
    updatedAtMs: Number(set.updatedAtMs),
    variables: set.values?.names ?? [],
    instances: set.instances.map(
      (instance): RfsStackInstance => ({
        project: instance.project,
        region: instance.region,
        stackId: instance.stack,
        stackName: instance.stackName,
        phase: PHASES.get(instance.phase) ?? "failed",
        message: instance.message,
        operation: instance.operation,
        createdAtMs: Number(instance.createdAtMs),
        updatedAtMs: Number(instance.updatedAtMs),
        hasOverrides: instance.overrides !== "",
      }),
    ),
    inProgress: set.openOperations.length > 0,
  };
}

const STATUSES: ReadonlyMap<RfsStackSetOperation_Phase, RfsSetOperation["status"]> = new Map([
  [RfsStackSetOperation_Phase.PHASE_QUEUED, "QUEUE_IN_PROGRESS"],
  [RfsStackSetOperation_Phase.PHASE_RUNNING, "OPERATION_IN_PROGRESS"],
  [RfsStackSetOperation_Phase.PHASE_COMPLETE, "OPERATION_COMPLETE"],
]);

function operationView(operation: StoredOperation): RfsSetOperation {
  const { members } = operation;
  const named = Object.entries(ACTIONS).find(([, action]) => action === operation.action);
  const regions = [...new Set(members.map(({ region }) => region))];
  return {
    id: operation.id,
    action: (named?.[0] ?? "DEPLOY_STACK_SET") as RfsSetAction,
    status: STATUSES.get(operation.phase) ?? "OPERATION_FAILED",
    message: operation.message,
    createdAtMs: Number(operation.createdAtMs),
    updatedAtMs: Number(operation.updatedAtMs),
    targets: members.map(({ project, region }) => ({ project, region })),
    preferences: {
      isSequential: operation.sequential,
      regionOrder: operation.ordered ? regions : undefined,
      tolerance: shareView(operation.tolerance),
      concurrency: shareView(operation.concurrency),
      isSoft: operation.soft,
    },
  };
}

function shareView(share: StoredOperation["tolerance"]): RfsShare {
  return { amount: share?.amount ?? 0, isPercent: share?.percent ?? false };
}
