import { RfsStacksError } from "../errors.ts";
import type { RfsStack } from "../port/stack-port.ts";
import { BodyFields } from "../request/body-fields.ts";
import { checkName } from "../request/names.ts";
import { pageOf } from "../request/page.ts";
import { stackStatus, statusMessage } from "../status/stack-status.ts";
import { TEMPLATE_FIELDS } from "../template/read-template.ts";
import { VARIABLE_FIELDS } from "../template/read-variables.ts";
import {
  configurationOf,
  refuseImports,
  refuseUnsupported,
  requireConfiguration,
} from "./configuration-of.ts";
import { busy, findStack, requireIdle } from "./find-stack.ts";
import { listName, type Operation, type OperationCall, queryOf, timeText } from "./operation.ts";

const STACKS = "/stacks";
const STACK = `${STACKS}/:stack_name`;
const DESCRIPTION = { max: 1024 } as const;
const ID = { min: 1, max: 36 } as const;
const CONFIGURATION_FIELDS = [...TEMPLATE_FIELDS, ...VARIABLE_FIELDS];
const SETTING_FIELDS = [
  "description",
  "enable_deletion_protection",
  "enable_auto_rollback",
  "agencies",
];

/** The operations that make, change, deploy and delete stacks. */
export const STACK_OPERATIONS: readonly Operation[] = [
  {
    name: "CreateStack",
    method: "POST",
    path: STACKS,
    access: "admin",
    status: 201,
    hasBody: true,
    async run(call) {
      const { port, caller, project, signal } = call;
      const known = ["stack_name", ...SETTING_FIELDS, ...CONFIGURATION_FIELDS];
      const fields = new BodyFields(call.body, known);
      const name = checkName("stack_name", fields.requiredText("stack_name", { max: 128 }));
      refuseUnsupported(fields);
      // Before the stack is made: a template that is refused leaves none behind.
      const configuration = await configurationOf(call, fields);
      const autoRollback = fields.flag("enable_auto_rollback") ?? false;
      if (configuration !== undefined) refuseImports(configuration, { autoRollback });
      const made = await port.stacks.create(caller, project, {
        name,
        description: fields.text("description", DESCRIPTION) ?? "",
        deletionProtection: fields.flag("enable_deletion_protection") ?? false,
        autoRollback,
      });
      if (made === undefined) {
        throw new RfsStacksError("RFS_STACK_EXISTS", `the project has a stack "${name}"`);
      }
      if (configuration === undefined) return { body: { stack_id: made.id } };
      const deployment = await port.stacks.deploy(caller, made, configuration, signal);
      if (deployment === undefined) throw busy(name);
      return { body: { stack_id: made.id, deployment_id: deployment } };
    },
  },
  {
    name: "ListStacks",
    method: "GET",
    path: STACKS,
    access: "viewer",
    limitsStacks: true,
    status: 200,
    hasBody: false,
    async run(call) {
      const { port, caller, project } = call;
      const all = await port.stacks.list(caller, project);
      const visible = all.filter(({ name }) => caller.sees(project, name));
      const page = pageOf(visible, queryOf(call, "marker", "limit"), {
        key: await port.markerKey(),
        list: listName(call, "stacks"),
        keyOf: ({ id }) => id,
      });
      const stacks: object[] = [];
      for (const { name } of page.items) {
        const stack = await port.stacks.find(caller, project, name);
        // Its deletion has ended meanwhile.
        if (stack !== undefined) stacks.push(itemView(stack));
      }
      const { page_info: info } = page;
      return { body: { stacks, page_info: { ...info, current_count: stacks.length } } };
    },
  },
  {
    name: "GetStackMetadata",
    method: "GET",
    path: `${STACK}/metadata`,
    access: "viewer",
    status: 200,
    hasBody: false,
    async run(call) {
      return { body: metadataView(await byQuery(call)) };
    },
  },
  {
    name: "UpdateStack",
    method: "PATCH",
    path: STACK,
    access: "operator",
    status: 204,
    hasBody: true,
    async run(call) {
      const fields = new BodyFields(call.body, ["stack_id", ...SETTING_FIELDS]);
      refuseUnsupported(fields);
      const stack = await findStack(call, fields.text("stack_id", ID));
      const description = fields.text("description", DESCRIPTION);
      const deletionProtection = fields.flag("enable_deletion_protection");
      if (!SETTING_FIELDS.some((name) => fields.has(name))) {
        throw new RfsStacksError("RFS_NOTHING_TO_UPDATE");
      }
      requireIdle(stack);
      const autoRollback = fields.flag("enable_auto_rollback");
      if (autoRollback === true && stackStatus(stack).endsWith("_FAILED")) {
        throw new RfsStacksError(
          "RFS_STACK_STATUS",
          `the stack "${stack.name}" is ${stackStatus(stack)}; enable_auto_rollback is switched on after a deployment that is complete`,
        );
      }
      const change = { description, deletionProtection, autoRollback };
      await call.port.stacks.change(call.caller, stack, change);
      return undefined;
    },
  },
  {
    name: "DeployStack",
    method: "POST",
    path: `${STACK}/deployments`,
    access: "operator",
    status: 202,
    hasBody: true,
    async run(call) {
      const { port, caller, signal } = call;
      const fields = new BodyFields(call.body, ["stack_id", ...CONFIGURATION_FIELDS]);
      const stack = await findStack(call, fields.text("stack_id", ID));
      requireIdle(stack);
      const configuration = await requireConfiguration(call, fields);
      refuseImports(configuration, stack);
      const deployment = await port.stacks.deploy(caller, stack, configuration, signal);
      if (deployment === undefined) throw busy(stack.name);
      return { body: { deployment_id: deployment } };
    },
  },
  {
    name: "ContinueDeployStack",
    method: "POST",
    path: `${STACK}/continuations`,
    access: "operator",
    status: 202,
    hasBody: true,
    async run(call) {
      const fields = new BodyFields(call.body ?? {}, ["stack_id"]);
      const stack = await findStack(call, fields.text("stack_id", ID));
      requireIdle(stack);
      requireStatus(stack, "DEPLOYMENT_FAILED", "continued");
      const deployment = await call.port.stacks.deployAgain(call.caller, stack);
      if (deployment === undefined) throw busy(stack.name);
      return { body: { deployment_id: deployment } };
    },
  },
  {
    name: "ContinueRollbackStack",
    method: "POST",
    path: `${STACK}/rollbacks`,
    access: "operator",
    status: 202,
    hasBody: true,
    async run(call) {
      const fields = new BodyFields(call.body ?? {}, ["stack_id"]);
      const stack = await findStack(call, fields.text("stack_id", ID));
      requireIdle(stack);
      requireStatus(stack, "ROLLBACK_FAILED", "rolled back further");
      const deployment = await call.port.stacks.rollBackAgain(call.caller, stack);
      if (deployment === undefined) throw busy(stack.name);
      return { body: { deployment_id: deployment } };
    },
  },
  {
    name: "DeleteStack",
    method: "DELETE",
    path: STACK,
    access: "admin",
    status: 202,
    hasBody: false,
    async run(call) {
      await remove(call, await byQuery(call));
      return undefined;
    },
  },
  {
    name: "DeleteStackEnhanced",
    method: "POST",
    path: `${STACK}/deletion`,
    access: "admin",
    status: 202,
    hasBody: true,
    async run(call) {
      const fields = new BodyFields(call.body ?? {}, ["stack_id", "retain_all_resources"]);
      if (fields.flag("retain_all_resources") === true) {
        throw new RfsStacksError(
          "RFS_NOT_OFFERED",
          "retain_all_resources: remove the objects from the state first with: stackwright state rm",
        );
      }
      await remove(call, await findStack(call, fields.text("stack_id", ID)));
      return undefined;
    },
  },
];

async function byQuery(call: OperationCall): Promise<RfsStack> {
  return findStack(call, queryOf(call, "stack_id").get("stack_id"));
}

async function remove({ port, caller }: OperationCall, stack: RfsStack): Promise<void> {
  requireIdle(stack);
  if (stack.deletionProtection) {
    throw new RfsStacksError(
      "RFS_STACK_PROTECTED",
      `the stack "${stack.name}" is protected from deletion; set enable_deletion_protection to false first`,
    );
  }
  if (!(await port.stacks.remove(caller, stack))) throw busy(stack.name);
}

function requireStatus(
  stack: RfsStack,
  needed: ReturnType<typeof stackStatus>,
  what: string,
): void {
  const status = stackStatus(stack);
  if (status === needed) return;
  throw new RfsStacksError(
    "RFS_STACK_STATUS",
    `the stack "${stack.name}" is ${status}; only one that is ${needed} can be ${what}`,
  );
}

function itemView(stack: RfsStack): object {
  const { name, id, description, createdAtMs, updatedAtMs } = stack;
  return {
    stack_name: name,
    stack_id: id,
    description,
    create_time: timeText(createdAtMs),
    update_time: timeText(updatedAtMs === 0 ? createdAtMs : updatedAtMs),
    status: stackStatus(stack),
    status_message: statusMessage(stack),
  };
}

function metadataView(stack: RfsStack): object {
  return {
    ...itemView(stack),
    enable_deletion_protection: stack.deletionProtection,
    enable_auto_rollback: stack.autoRollback,
  };
}
