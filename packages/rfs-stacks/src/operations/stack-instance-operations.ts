import { RfsStacksError } from "../errors.ts";
import type { RfsAccess } from "../port/rfs-stacks-port.ts";
import type {
  NewRfsSetOperation,
  RfsInstancePhase,
  RfsSetOperation,
  RfsShare,
  RfsStackInstance,
  RfsStackSet,
  RfsTarget,
} from "../port/stack-set-port.ts";
import { BodyFields } from "../request/body-fields.ts";
import { eventFilter } from "../request/event-filter.ts";
import { readOperationPreferences } from "../request/operation-preferences.ts";
import { pageOf } from "../request/page.ts";
import { sorted } from "../request/sort.ts";
import { TEMPLATE_FIELDS } from "../template/read-template.ts";
import { type DeploymentTargets, readDeploymentTargets, targetsOf } from "./deployment-targets.ts";
import { checkCallIdentity, findStackSet, setBusy } from "./find-stack-set.ts";
import { listName, type Operation, type OperationCall, queryOf } from "./operation.ts";
import { readOverrides, readSetTemplate, SET_VARIABLE_FIELDS } from "./set-template.ts";

const SET = "/stack-sets/:stack_set_name";
const INSTANCES = `${SET}/stack-instances`;
const OPERATIONS = `${SET}/operations`;
const ID = { min: 1, max: 36 } as const;
const REQUEST_FIELDS = [
  "stack_set_id",
  "deployment_targets",
  "operation_preferences",
  "call_identity",
];
const LIST_FIELDS = [
  "stack_set_id",
  "filter",
  "sort_key",
  "sort_dir",
  "call_identity",
  "marker",
  "limit",
];

/** The operations of the stacks of stack sets, and of what is done with them. */
export const STACK_INSTANCE_OPERATIONS: readonly Operation[] = [
  {
    name: "CreateStackInstance",
    method: "POST",
    path: INSTANCES,
    scope: "account",
    access: "viewer",
    status: 202,
    hasBody: true,
    async run(call) {
      const { fields, set, targets } = await beginning(call, "var_overrides");
      const { regions, projects } = requireTargets(targets);
      if (projects === undefined) {
        throw new RfsStacksError(
          "RFS_PARAMETER_MISSING",
          "deployment_targets.domain_ids names the projects that get instances",
        );
      }
      const chosen = targetsOf(regions, projects);
      requireAccess(call, chosen, "admin");
      const known = chosen.find((target) => instanceAt(set, target) !== undefined);
      if (known !== undefined) {
        throw new RfsStacksError(
          "RFS_TARGET_INVALID",
          `the stack set "${set.name}" has an instance in the project "${known.project}" and the region "${known.region}"; update it instead`,
        );
      }
      return begin(call, set, {
        action: "CREATE_STACK_INSTANCES",
        targets: chosen,
        preferences: readOperationPreferences(fields, regions),
        overrides: await overridesOf(call, fields, set),
      });
    },
  },
  {
    name: "UpdateStackInstances",
    method: "PATCH",
    path: INSTANCES,
    scope: "account",
    access: "viewer",
    status: 202,
    hasBody: true,
    async run(call) {
      const { fields, set, targets } = await beginning(call, "var_overrides");
      const chosen = existing(set, requireTargets(targets));
      requireAccess(call, chosen, "operator");
      return begin(call, set, {
        action: "UPDATE_STACK_INSTANCES",
        targets: chosen,
        preferences: readOperationPreferences(fields, regionsOf(chosen)),
        overrides: await overridesOf(call, fields, set),
      });
    },
  },
  deletion("DeleteStackInstance", "POST", `${INSTANCES}/deletion`),
  deletion("DeleteStackInstanceDeprecated", "DELETE", INSTANCES),
  {
    name: "DeployStackSet",
    method: "POST",
    path: `${SET}/deployments`,
    scope: "account",
    access: "operator",
    status: 202,
    hasBody: true,
    async run(call) {
      const { fields, set, targets } = await beginning(
        call,
        ...TEMPLATE_FIELDS,
        ...SET_VARIABLE_FIELDS,
      );
      const chosen = targets === undefined ? set.instances : existing(set, targets);
      // What a set deploys to one project, the next operation deploys to the others.
      requireAccess(call, set.instances, "operator");
      const template = await readSetTemplate(call, fields);
      return begin(call, set, {
        action: "DEPLOY_STACK_SET",
        targets: chosen.map(({ project, region }) => ({ project, region })),
        preferences: readOperationPreferences(fields, regionsOf(chosen)),
        template,
      });
    },
  },
  {
    name: "ListStackInstances",
    method: "GET",
    path: INSTANCES,
    scope: "account",
    access: "viewer",
    status: 200,
    hasBody: false,
    async run(call) {
      const query = queryOf(call, ...LIST_FIELDS);
      checkCallIdentity(query.get("call_identity"));
      const set = await findStackSet(call, query.get("stack_set_id"));
      const matches = eventFilter(query.get("filter"), ["region", "stack_domain_id"]);
      const views = set.instances
        .toSorted((a, b) => b.createdAtMs - a.createdAtMs)
        .map((instance) => instanceView(set, instance))
        .filter(matches);
      const page = pageOf(sorted(views, query), query, {
        key: await call.port.markerKey(),
        list: listName(call, "stack-instances", set.id),
        keyOf: ({ region, stack_domain_id: project }) => `${region}/${project}`,
      });
      return { body: { stack_instances: page.items, page_info: page.page_info } };
    },
  },
  { ...shownInstance(`${INSTANCES}/:stack_instance_addr`), aliases: addressSpellings },
  // Some clients send the slash of the address as it is.
  shownInstance(`${INSTANCES}/:region/:project`),
  {
    name: "ListStackSetOperations",
    method: "GET",
    path: OPERATIONS,
    scope: "account",
    access: "viewer",
    status: 200,
    hasBody: false,
    async run(call) {
      const { port, caller } = call;
      const query = queryOf(call, ...LIST_FIELDS);
      checkCallIdentity(query.get("call_identity"));
      const set = await findStackSet(call, query.get("stack_set_id"));
      const matches = eventFilter(query.get("filter"), ["status", "action"]);
      const views = (await port.stackSets.operations(caller, set))
        .map((operation) => ({ operation_id: operation.id, ...operationView(set, operation) }))
        .filter(matches);
      const page = pageOf(sorted(views, query), query, {
        key: await port.markerKey(),
        list: listName(call, "stack-set-operations", set.id),
        keyOf: ({ operation_id: id }) => id,
      });
      return { body: { stack_set_operations: page.items, page_info: page.page_info } };
    },
  },
  {
    name: "ShowStackSetOperationMetadata",
    method: "GET",
    path: `${OPERATIONS}/:stack_set_operation_id/metadata`,
    scope: "account",
    access: "viewer",
    status: 200,
    hasBody: false,
    async run(call) {
      const { port, caller, params } = call;
      const query = queryOf(call, "stack_set_id", "call_identity");
      checkCallIdentity(query.get("call_identity"));
      const set = await findStackSet(call, query.get("stack_set_id"));
      const id = params["stack_set_operation_id"] ?? "";
      const found = (await port.stackSets.operations(caller, set)).find((one) => one.id === id);
      if (found === undefined) {
        throw new RfsStacksError(
          "RFS_STACK_SET_OPERATION_NOT_FOUND",
          `the stack set "${set.name}" has no operation ${id.slice(0, 64)}`,
        );
      }
      return { body: { stack_set_operation_id: id, ...metadataView(set, found) } };
    },
  },
];

function deletion(name: string, method: "POST" | "DELETE", path: string): Operation {
  return {
    name,
    method,
    path,
    scope: "account",
    access: "viewer",
    status: 202,
    hasBody: true,
    async run(call) {
      const { fields, set, targets } = await beginning(call);
      const chosen = existing(set, requireTargets(targets));
      requireAccess(call, chosen, "admin");
      return begin(call, set, {
        action: "DELETE_STACK_INSTANCES",
        targets: chosen,
        preferences: readOperationPreferences(fields, regionsOf(chosen)),
      });
    },
  };
}

function shownInstance(path: string): Operation {
  return {
    name: "ShowStackInstance",
    method: "GET",
    path,
    scope: "account",
    access: "viewer",
    status: 200,
    hasBody: false,
    async run(call) {
      const { params } = call;
      const query = queryOf(call, "stack_set_id", "call_identity");
      checkCallIdentity(query.get("call_identity"));
      const set = await findStackSet(call, query.get("stack_set_id"));
      const given = params["stack_instance_addr"] ?? `${params["region"]}/${params["project"]}`;
      // Of clients that encode what is encoded already.
      const address = given.replace(/%2f/i, "/");
      const found = set.instances.find(({ region, project }) => `${region}/${project}` === address);
      if (found === undefined) {
        throw new RfsStacksError(
          "RFS_STACK_INSTANCE_NOT_FOUND",
          `the stack set "${set.name}" has no instance "${address.slice(0, 128)}"; its address is REGION/PROJECT`,
        );
      }
      const overrides = found.hasOverrides && { var_overrides: { vars_body: "<sensitive>" } };
      return { body: { ...instanceView(set, found), ...overrides } };
    },
  };
}

/** An address of an instance at the end of a path, with its slash escaped. */
const ESCAPED_ADDRESS =
  /^([^?]*\/[A-Za-z0-9][A-Za-z0-9_-]*)%(2f)([A-Za-z0-9][A-Za-z0-9._-]*)(\?.*)?$/i;

/**
 * The other spellings of an address whose slash is escaped. The client for Python escapes the slash and signs it as it is; others sign what their
 * caller has escaped as a text, escaped once more. All of them are paths of this one operation and name the same instance: regions and
 * projects have neither slashes nor percent signs.
 */
function addressSpellings(target: string): readonly string[] {
  const [, before, slash, after, query = ""] = ESCAPED_ADDRESS.exec(target) ?? [];
  if (before === undefined) return [];
  return [`${before}/${after}${query}`, `${before}%25${slash}${after}${query}`];
}

/** What all requests that begin an operation have. */
async function beginning(call: OperationCall, ...more: readonly string[]) {
  const fields = new BodyFields(call.body, [...REQUEST_FIELDS, ...more]);
  checkCallIdentity(fields.text("call_identity", { max: 32 }));
  const set = await findStackSet(call, fields.text("stack_set_id", ID));
  const targets = await readDeploymentTargets(call.port, fields, call.signal);
  return { fields, set, targets };
}

function requireTargets(targets: DeploymentTargets | undefined): DeploymentTargets {
  if (targets !== undefined) return targets;
  throw new RfsStacksError("RFS_PARAMETER_MISSING", "deployment_targets is required");
}

/** The instances that targets name. All of them exist. */
function existing(set: RfsStackSet, { regions, projects }: DeploymentTargets) {
  if (projects === undefined) {
    const none = regions.find((name) => !set.instances.some(({ region }) => region === name));
    if (none !== undefined) throw notInSet(set, `region "${none}"`);
    return set.instances.filter(({ region }) => regions.includes(region));
  }
  return targetsOf(regions, projects).map((target) => {
    const { project, region } = target;
    const found = instanceAt(set, target);
    if (found !== undefined) return found;
    throw notInSet(set, `project "${project}" and the region "${region}"`);
  });
}

function notInSet({ name }: RfsStackSet, where: string): RfsStacksError {
  return new RfsStacksError(
    "RFS_TARGET_INVALID",
    `the stack set "${name}" has no instance in the ${where}; create it first`,
  );
}

function instanceAt(set: RfsStackSet, target: RfsTarget): RfsStackInstance | undefined {
  return set.instances.find(
    ({ project, region }) => project === target.project && region === target.region,
  );
}

function regionsOf(targets: readonly RfsTarget[]): readonly string[] {
  return [...new Set(targets.map(({ region }) => region))];
}

/** An operation does in each project what its author may do there. */
function requireAccess(
  { caller }: OperationCall,
  targets: readonly RfsTarget[],
  access: RfsAccess,
): void {
  for (const project of new Set(targets.map((target) => target.project))) {
    caller.require(project, access);
  }
}

async function overridesOf(call: OperationCall, fields: BodyFields, set: RfsStackSet) {
  const { port, caller } = call;
  return readOverrides(call, fields, set, async () => port.stackSets.template(caller, set));
}

async function begin(
  { port, caller, signal }: OperationCall,
  set: RfsStackSet,
  given: NewRfsSetOperation,
): Promise<{ readonly body: object }> {
  const begun = await port.stackSets.begin(caller, set, given, signal);
  if (begun === "busy") throw setBusy(set);
  if (begun === "many") {
    throw new RfsStacksError(
      "RFS_LIMIT_REACHED",
      `as many operations of the stack set "${set.name}" are in progress as may be; wait for one`,
    );
  }
  return { body: { stack_set_operation_id: begun.id } };
}

const STATUSES: Readonly<Record<RfsInstancePhase, string>> = {
  waiting: "WAIT_IN_PROGRESS",
  running: "OPERATION_IN_PROGRESS",
  complete: "OPERATION_COMPLETE",
  failed: "OPERATION_FAILED",
  canceled: "CANCEL_COMPLETE",
};

function instanceView(set: RfsStackSet, instance: RfsStackInstance) {
  return {
    stack_set_id: set.id,
    stack_set_name: set.name,
    status: STATUSES[instance.phase],
    status_message: instance.message,
    stack_id: instance.stackId,
    stack_name: instance.stackName,
    stack_domain_id: instance.project,
    region: instance.region,
    latest_stack_set_operation_id: instance.operation,
    create_time: new Date(instance.createdAtMs).toISOString(),
    update_time: new Date(instance.updatedAtMs).toISOString(),
  };
}

function operationView(set: RfsStackSet, operation: RfsSetOperation) {
  return {
    stack_set_id: set.id,
    stack_set_name: set.name,
    action: operation.action,
    status: operation.status,
    status_message: operation.message,
    create_time: new Date(operation.createdAtMs).toISOString(),
    update_time: new Date(operation.updatedAtMs).toISOString(),
  };
}

function metadataView(set: RfsStackSet, operation: RfsSetOperation): object {
  const { preferences, targets } = operation;
  const { administrationAgencyName: name, administrationAgencyUrn: urn } = set;
  return {
    ...operationView(set, operation),
    ...(name !== "" && { administration_agency_name: name }),
    ...(urn !== "" && { administration_agency_urn: urn }),
    ...(set.managedAgencyName !== "" && { managed_agency_name: set.managedAgencyName }),
    deployment_targets: {
      regions: regionsOf(targets),
      domain_ids: [...new Set(targets.map(({ project }) => project))],
    },
    operation_preferences: {
      region_concurrency_type: preferences.isSequential ? "SEQUENTIAL" : "PARALLEL",
      ...(preferences.regionOrder !== undefined && { region_order: preferences.regionOrder }),
      ...shareView("failure_tolerance", preferences.tolerance),
      ...shareView("max_concurrent", preferences.concurrency),
      failure_tolerance_mode: preferences.isSoft
        ? "SOFT_FAILURE_TOLERANCE"
        : "STRICT_FAILURE_TOLERANCE",
    },
  };
}

function shareView(name: string, { amount, isPercent }: RfsShare): object {
  return { [`${name}_${isPercent ? "percentage" : "count"}`]: amount };
}
