import { isEnded, type NamedStack, StackDirectory } from "@stackwright/core";
import {
  type RfsStackInstance,
  RfsStackInstance_Phase,
  type RfsStackSet,
  type RfsStackSetOperation,
  RfsStackSetOperation_Action,
  type RfsStackSetOperation_Member,
  Variable,
} from "@stackwright/proto/stackwright";
import { type RfsStack, templateFiles } from "@stackwright/rfs-stacks";
import { readStored } from "@stackwright/storage";
import { serverErrorOf } from "../api/problem.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { projectTenancy, RUN_KIND, runPlace, stackPlace } from "../domain/run-places.ts";
import { SERVER_ERRORS } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { addStack } from "../queue/add-stack.ts";
import { phaseOf } from "../queue/run-row.ts";
import { idOf, transact } from "../queue/transaction.ts";
import { readRfsStack } from "../worker/deployed-values.ts";
import { CATEGORIES, variablePrefix } from "../worker/run-variables.ts";
import type { RfsParts } from "./rfs-parts.ts";
import { deployRfsStack, destroyRfsStack, findRfsStack, NOTHING } from "./rfs-stacks.ts";
import { openSetValues } from "./stack-set-places.ts";

/** The variable that tells providers of the service which region they are for. */
const REGION_VARIABLE = "HW_REGION_NAME";
const MAX_MESSAGE = 512;

/** A member of an operation, with what it is of. */
export interface MemberOf {
  readonly account: string;
  readonly set: RfsStackSet;
  readonly setName: string;
  readonly operation: RfsStackSetOperation;
  readonly member: RfsStackSetOperation_Member;
  /** Undefined where it was deleted. */
  readonly instance: RfsStackInstance | undefined;
}

/** How a member ended. */
interface MemberEnd {
  readonly phase: RfsStackInstance_Phase;
  readonly message: string;
  /** The instance has no stack any longer. */
  readonly isGone?: boolean;
}

/**
 * Requests the run of a member, whose id is in it: a repetition after an interruption requests no second one. Returns the id of the stack, or why
 * there is no run.
 */
export async function beginMember(
  parts: RfsParts,
  of: MemberOf,
  signal: AbortSignal,
): Promise<{ readonly stack: string } | MemberEnd> {
  try {
    return isDeletion(of.operation)
      ? await beginDeletion(parts, of)
      : await beginDeployment(parts, of, signal);
  } catch (error) {
    const refusal = refusalOf(error);
    if (signal.aborted || refusal === undefined) throw error;
    return failed(refusal);
  }
}

/** How a member ended whose run was requested; undefined while it is in progress, also while it is taken back. */
export async function endOfMember(parts: RfsParts, of: MemberOf): Promise<MemberEnd | undefined> {
  const { account, member, instance, operation } = of;
  if (instance === undefined) return failed("the instance was deleted");
  const { project } = member;
  let stack: RfsStack | undefined;
  try {
    stack = await findRfsStack(parts, { account, project }, instance.stackName);
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal === undefined) throw error;
    return failed(refusal);
  }
  const isThere = stack !== undefined && stack.id === instance.stack;
  if (!isThere) {
    return isDeletion(operation) ? gone() : failed("the stack was deleted; delete its instance");
  }
  const id = idOf(
    RUN_KIND,
    runPlace({ stack: { account, project, stack: instance.stack }, run: member.run }),
  );
  const found = await readStored(parts.storage, "strong", id);
  if (found === undefined) return failed("its run is stored no more");
  const run = decodeRecord(RUN_KIND, found);
  const phase = phaseOf(run);
  if (!isEnded(phase)) return undefined;
  const isDone = phase === "applied" || phase === "no_changes";
  if (isDone && !isDeletion(operation)) {
    return { phase: RfsStackInstance_Phase.PHASE_COMPLETE, message: "" };
  }
  if (isDone) return failed("the stack was deployed again meanwhile");
  const { deployment } = stack ?? {};
  if (deployment?.purpose === "rollback") {
    return isEnded(deployment.phase) ? failed(deployment.reason) : undefined;
  }
  return failed(run.reason === "" ? `its run is ${phase}` : run.reason);
}

function isDeletion({ action }: RfsStackSetOperation): boolean {
  return action === RfsStackSetOperation_Action.ACTION_DELETE_INSTANCES;
}

async function beginDeployment(
  parts: RfsParts,
  { account, set, setName, operation, member, instance }: MemberOf,
  signal: AbortSignal,
): Promise<{ readonly stack: string } | MemberEnd> {
  if (instance === undefined) return failed("the instance was deleted");
  const { project, run } = member;
  if (instance.stack === "") await makeStack(parts, account, set, instance);
  const stack = await findOwnStack(parts, account, set, instance);
  if (stack === "foreign") {
    return failed(
      `the project "${project}" has a stack "${instance.stackName}" that the stack set did not make, and it was left as it is: delete that stack and update the instance, or delete the instance`,
    );
  }
  if (stack === undefined) return failed("the stack was deleted; delete its instance");
  const chunks: Uint8Array[] = [];
  for await (const chunk of parts.blobs.read(set.templateSha256)) chunks.push(chunk);
  const file = { fileName: set.templateFileName, content: Buffer.concat(chunks) };
  const own = set.overrides.find(({ id }) => id === instance.overrides);
  const values = await openSetValues(parts.keys, account, set.values);
  const overrides = await openSetValues(parts.keys, account, own);
  // Of values that the set has no more, nothing is known: its template may have other variables by now.
  const variables = new Map(
    [...values].map(([name, value]) => [name, overrides.get(name) ?? value]),
  );
  const configuration = {
    files: await templateFiles(file, signal),
    variables,
    hasImports: false,
  };
  const message = `deployed by the stack set ${setName}`;
  const given = { run, actor: operation.actor, message };
  const made = await deployRfsStack(parts, stack, configuration, given, signal);
  if (made === undefined) return failed(`the stack ${stack.name} is in progress`);
  return { stack: stack.reference.stack };
}

/**
 * Makes the stack of an instance, where its name is free, in one step with what says whose it is: it is taken back when a deployment fails, and
 * its runs are given the region.
 */
async function makeStack(
  parts: RfsParts,
  account: string,
  { id: stackSet, initialStackDescription: description }: RfsStackSet,
  { project, region, stackName }: RfsStackInstance,
): Promise<void> {
  await transact(parts, async (tx) => {
    const made = await addStack(tx, { account, project }, stackName);
    if (made === undefined) return;
    const { reference: stack } = made;
    const updatedAtMs = BigInt(tx.nowMs);
    tx.create(SERVER_KINDS.rfsStack, stackPlace(stack), {
      ...NOTHING,
      description,
      autoRollback: true,
      updatedAtMs,
      stackSet,
    });
    const variable = {
      tenancy: projectTenancy(stack),
      name: `${variablePrefix(stack)}env.${REGION_VARIABLE}`,
    };
    const message = Variable.create({
      key: REGION_VARIABLE,
      category: CATEGORIES.env,
      value: Buffer.from(region),
      description: "the region of the stack instance",
      updatedAtMs,
    });
    tx.create(SERVER_KINDS.variable, variable, message);
  });
}

/** The stack of an instance, which its set made; "foreign" where another one has its name. */
async function findOwnStack(
  parts: RfsParts,
  account: string,
  set: RfsStackSet,
  { project, stack, stackName }: RfsStackInstance,
): Promise<NamedStack | "foreign" | undefined> {
  const directory = new StackDirectory({ storage: parts.storage });
  const found = await directory.find({ account, project }, stackName);
  if (found === undefined) return undefined;
  if (stack !== "") return found.reference.stack === stack ? found : undefined;
  const { stackSet } = await readRfsStack(parts, found.reference);
  return stackSet === set.id ? found : "foreign";
}

async function beginDeletion(
  parts: RfsParts,
  { account, set, setName, operation, member, instance }: MemberOf,
): Promise<{ readonly stack: string } | MemberEnd> {
  if (instance === undefined) return gone();
  // One that was made and never deployed is not in the record of the instance.
  const stack = await findOwnStack(parts, account, set, instance);
  if (stack === undefined || stack === "foreign") return gone();
  const message = `deleted by the stack set ${setName}`;
  const given = { run: member.run, actor: operation.actor, message };
  if (await destroyRfsStack(parts, stack, given)) return { stack: stack.reference.stack };
  return failed(`the stack ${stack.name} is in progress`);
}

function gone(): MemberEnd {
  return { phase: RfsStackInstance_Phase.PHASE_COMPLETE, message: "", isGone: true };
}

function failed(message: string): MemberEnd {
  return { phase: RfsStackInstance_Phase.PHASE_FAILED, message: message.slice(0, MAX_MESSAGE) };
}

/** What refuses something for good; undefined where it may succeed later. */
function refusalOf(error: unknown): string | undefined {
  const { code, message } = serverErrorOf(error);
  const { httpStatus = 500 } = SERVER_ERRORS[code];
  return httpStatus < 500 && httpStatus !== 429 ? message : undefined;
}
