import { RfsStacksError } from "../errors.ts";
import type { RfsPlan, RfsPlanItem } from "../port/plan-port.ts";
import type { RfsStack } from "../port/stack-port.ts";
import { BodyFields } from "../request/body-fields.ts";
import { checkName } from "../request/names.ts";
import { pageOf } from "../request/page.ts";
import { planMessage, planStatus } from "../status/plan-status.ts";
import { TEMPLATE_FIELDS } from "../template/read-template.ts";
import { VARIABLE_FIELDS } from "../template/read-variables.ts";
import { refuseImports, requireConfiguration } from "./configuration-of.ts";
import { busy, findStack, requireIdle } from "./find-stack.ts";
import { listName, type Operation, type OperationCall, queryOf, timeText } from "./operation.ts";

const PLANS = "/stacks/:stack_name/execution-plans";
const PLAN = `${PLANS}/:execution_plan_name`;
const ID = { min: 1, max: 36 } as const;

/** The operations of execution plans. */
export const PLAN_OPERATIONS: readonly Operation[] = [
  {
    name: "CreateExecutionPlan",
    method: "POST",
    path: PLANS,
    access: "operator",
    status: 202,
    hasBody: true,
    async run(call) {
      const { port, caller, signal } = call;
      const fields = new BodyFields(call.body, [
        "stack_id",
        "execution_plan_name",
        "description",
        ...TEMPLATE_FIELDS,
        ...VARIABLE_FIELDS,
      ]);
      const name = checkName(
        "execution_plan_name",
        fields.requiredText("execution_plan_name", { max: 128 }),
      );
      const description = fields.text("description", { max: 1024 }) ?? "";
      const stack = await findStack(call, fields.text("stack_id", ID));
      requireIdle(stack);
      const configuration = await requireConfiguration(call, fields);
      refuseImports(configuration, stack);
      const given = { name, description, ...configuration };
      const made = await port.plans.create(caller, stack, given, signal);
      if (made === "busy") throw busy(stack.name);
      if (made === "taken") {
        throw new RfsStacksError(
          "RFS_PLAN_EXISTS",
          `the stack "${stack.name}" has an execution plan "${name}"`,
        );
      }
      return { body: { execution_plan_id: made.id } };
    },
  },
  {
    name: "ListExecutionPlans",
    method: "GET",
    path: PLANS,
    access: "viewer",
    status: 200,
    hasBody: false,
    async run(call) {
      const { port, caller } = call;
      const query = queryOf(call, "stack_id", "marker", "limit");
      const stack = await findStack(call, query.get("stack_id"));
      const page = pageOf(await port.plans.list(caller, stack), query, {
        key: await port.markerKey(),
        list: listName(call, "plans", stack.id),
        keyOf: ({ id }) => id,
      });
      const plans = page.items.map((plan) => itemView(stack, plan));
      return { body: { execution_plans: plans, page_info: page.page_info } };
    },
  },
  {
    name: "GetExecutionPlan",
    method: "GET",
    path: PLAN,
    access: "viewer",
    status: 200,
    hasBody: false,
    async run(call) {
      const { stack, plan } = await byQuery(call);
      const isMade = planStatus(plan) !== "CREATION_IN_PROGRESS" && plan.hasPlan;
      const items = isMade ? await call.port.plans.items(call.caller, stack, plan) : [];
      return { body: { execution_plan_items: items.map(planItemView) } };
    },
  },
  {
    name: "GetExecutionPlanMetadata",
    method: "GET",
    path: `${PLAN}/metadata`,
    access: "viewer",
    status: 200,
    hasBody: false,
    async run(call) {
      const { stack, plan } = await byQuery(call);
      const { counts, appliedAtMs } = plan;
      return {
        body: {
          ...itemView(stack, plan),
          ...(appliedAtMs > 0 && { apply_time: timeText(appliedAtMs) }),
          summary: {
            resource_add: counts.add,
            resource_update: counts.update,
            resource_delete: counts.delete,
            resource_import: counts.import,
          },
        },
      };
    },
  },
  {
    name: "ApplyExecutionPlan",
    method: "POST",
    path: PLAN,
    access: "operator",
    status: 202,
    hasBody: true,
    async run(call) {
      const fields = new BodyFields(call.body ?? {}, ["stack_id", "execution_plan_id"]);
      const given = {
        stack: fields.text("stack_id", ID),
        plan: fields.text("execution_plan_id", ID),
      };
      const { stack, plan } = await findPlan(call, given);
      requireIdle(stack);
      const isAvailable =
        plan.phase === "awaiting_approval" ||
        (plan.phase === "no_changes" && plan.appliedAtMs === 0);
      if (!isAvailable) {
        const message = planMessage(plan);
        throw new RfsStacksError(
          "RFS_PLAN_STATUS",
          `the execution plan "${plan.name}" is ${planStatus(plan)}${message === "" ? "" : ` (${message})`}; it cannot be applied`,
        );
      }
      return { body: { deployment_id: await call.port.plans.apply(call.caller, stack, plan) } };
    },
  },
  {
    name: "DeleteExecutionPlan",
    method: "DELETE",
    path: PLAN,
    access: "operator",
    status: 204,
    hasBody: false,
    async run(call) {
      const { stack, plan } = await byQuery(call);
      const status = planStatus(plan);
      if (status === "CREATION_IN_PROGRESS" || status === "APPLY_IN_PROGRESS") {
        throw new RfsStacksError(
          "RFS_PLAN_STATUS",
          `the execution plan "${plan.name}" is ${status}; delete it later`,
        );
      }
      await call.port.plans.remove(call.caller, stack, plan);
      return undefined;
    },
  },
  {
    name: "EstimateExecutionPlanPrice",
    method: "GET",
    path: `${PLAN}/prices`,
    access: "viewer",
    status: 200,
    hasBody: false,
    async run(call) {
      await byQuery(call);
      throw new RfsStacksError("RFS_PRICES_NOT_OFFERED");
    },
  },
];

interface GivenIds {
  readonly stack: string | undefined;
  readonly plan: string | undefined;
}

async function byQuery(call: OperationCall): Promise<{ stack: RfsStack; plan: RfsPlan }> {
  const query = queryOf(call, "stack_id", "execution_plan_id");
  return findPlan(call, { stack: query.get("stack_id"), plan: query.get("execution_plan_id") });
}

async function findPlan(
  call: OperationCall,
  ids: GivenIds,
): Promise<{ stack: RfsStack; plan: RfsPlan }> {
  const stack = await findStack(call, ids.stack);
  const name = call.params["execution_plan_name"] ?? "";
  const plan = await call.port.plans.find(call.caller, stack, name);
  if (plan === undefined) {
    throw new RfsStacksError(
      "RFS_PLAN_NOT_FOUND",
      `the stack "${stack.name}" has no execution plan "${name.slice(0, 128)}"`,
    );
  }
  if (ids.plan === undefined || ids.plan === plan.id) return { stack, plan };
  throw new RfsStacksError(
    "RFS_PLAN_ID_MISMATCH",
    `the execution plan "${name}" has the id ${plan.id}, which is not the one that was given`,
  );
}

function itemView(stack: RfsStack, plan: RfsPlan): object {
  return {
    stack_name: stack.name,
    stack_id: stack.id,
    execution_plan_name: plan.name,
    execution_plan_id: plan.id,
    description: plan.description,
    create_time: timeText(plan.createdAtMs),
    status: planStatus(plan),
    status_message: planMessage(plan),
  };
}

function planItemView(item: RfsPlanItem): object {
  return {
    resource_type: item.type,
    resource_name: item.name,
    index: item.index,
    mode: item.mode,
    action: item.action,
    action_reason: item.reason,
    provider_name: item.providerName,
    resource_id: item.id,
    drifted: item.drifted,
    imported: item.imported,
    attributes: item.attributes.map(({ name, before, after }) => ({
      name,
      previous_value: before,
      target_value: after,
    })),
  };
}
