import { RfsStacksError } from "../errors.ts";
import type { RfsEvent, RfsStack } from "../port/stack-port.ts";
import { eventFilter } from "../request/event-filter.ts";
import { pageOf } from "../request/page.ts";
import { isInProgress } from "../status/stack-status.ts";
import { findStack } from "./find-stack.ts";
import { LINK_MS, listName, type Operation, queryOf, timeText } from "./operation.ts";

const STACK = "/stacks/:stack_name";
const EVENT_FIELDS = [
  "event_type",
  "event_message",
  "elapsed_seconds",
  "resource_type",
  "resource_name",
  "resource_key",
  "resource_id_key",
  "resource_id_value",
  "time",
];

/** The operations that show what happened to a stack and what it has. */
export const STACK_CONTENT_OPERATIONS: readonly Operation[] = [
  {
    name: "ListStackEvents",
    method: "GET",
    path: `${STACK}/events`,
    access: "viewer",
    status: 200,
    hasBody: false,
    async run(call) {
      const { port, caller } = call;
      const known = ["stack_id", "deployment_id", "filter", "field", "marker", "limit"];
      const query = queryOf(call, ...known);
      const stack = await findStack(call, query.get("stack_id"));
      const matches = eventFilter(query.get("filter"), EVENT_FIELDS);
      const shown = shownFields(query.get("field"));
      const deployment = query.get("deployment_id");
      const found = await port.stacks.events(caller, stack, deployment);
      if (found === undefined) {
        throw new RfsStacksError(
          "RFS_DEPLOYMENT_NOT_FOUND",
          `the stack "${stack.name}" has no deployment ${deployment?.slice(0, 64) ?? ""}`,
        );
      }
      const events = found
        .map((event, at) => ({ view: eventView(event), key: `${found.length - at}` }))
        .filter(({ view }) => matches(view));
      const page = pageOf(events, query, {
        key: await port.markerKey(),
        list: listName(call, "events", stack.id, deployment ?? ""),
        keyOf: ({ key }) => key,
      });
      const stackEvents = page.items.map(({ view }) =>
        Object.fromEntries(Object.entries(view).filter(([name]) => shown.has(name))),
      );
      return { body: { stack_events: stackEvents, page_info: page.page_info } };
    },
  },
  {
    name: "ListStackOutputs",
    method: "GET",
    path: `${STACK}/outputs`,
    access: "viewer",
    status: 200,
    hasBody: false,
    async run(call) {
      const { port, caller } = call;
      const query = queryOf(call, "stack_id", "marker", "limit");
      const stack = await findStack(call, query.get("stack_id"));
      const all = isBusy(stack) ? [] : await port.stacks.outputs(caller, stack);
      const page = pageOf(all, query, {
        key: await port.markerKey(),
        list: listName(call, "outputs", stack.id),
        keyOf: ({ name }) => name,
      });
      const outputs = page.items.map(({ name, description, type, value, sensitive }) => ({
        name,
        description,
        type: sensitive ? "<sensitive>" : type,
        value: sensitive ? "<sensitive>" : value,
        sensitive,
      }));
      return { body: { outputs, page_info: page.page_info } };
    },
  },
  {
    name: "ListStackResources",
    method: "GET",
    path: `${STACK}/resources`,
    access: "viewer",
    status: 200,
    hasBody: false,
    async run(call) {
      const { port, caller } = call;
      const query = queryOf(call, "stack_id", "marker", "limit");
      const stack = await findStack(call, query.get("stack_id"));
      const page = pageOf(await port.stacks.resources(caller, stack), query, {
        key: await port.markerKey(),
        list: listName(call, "resources", stack.id),
        keyOf: ({ type, name, key, id }) => [type, name, key, id].join("\0"),
      });
      const busy = isBusy(stack);
      const resources = page.items.map(({ type, name, key, id, status, message, attributes }) => ({
        physical_resource_id: id,
        physical_resource_name: "",
        logical_resource_name: name,
        logical_resource_type: type,
        index_key: key,
        resource_status: status,
        status_message: message,
        ...(!busy && { resource_attributes: attributes }),
      }));
      return { body: { stack_resources: resources, page_info: page.page_info } };
    },
  },
  {
    name: "GetStackTemplate",
    method: "GET",
    path: `${STACK}/templates`,
    access: "viewer",
    status: 307,
    hasBody: false,
    async run(call) {
      const { port, caller, project } = call;
      const query = queryOf(
        call,
        "stack_id",
        "access_control_source_ips",
        "access_control_source_vpc_ids",
      );
      const stack = await findStack(call, query.get("stack_id"));
      const deployment = await port.stacks.templateOf(caller, stack);
      if (deployment === undefined) {
        throw new RfsStacksError(
          "RFS_STACK_TEMPLATE_NOT_FOUND",
          `the stack "${stack.name}" has no deployment that ended`,
        );
      }
      const { account } = caller;
      const { id, name } = stack;
      const target = { kind: "stack", account, project, stack: id, name, deployment } as const;
      return { content: await port.signContent(caller, target, LINK_MS) };
    },
  },
];

function isBusy({ deployment }: RfsStack): boolean {
  return deployment !== undefined && isInProgress(deployment);
}

/** The members of events that a request asks for; the type is always among them. */
function shownFields(text: string | undefined): ReadonlySet<string> {
  if (text === undefined) return new Set(EVENT_FIELDS);
  const wanted = text.split(",").map((name) => name.trim());
  const unknown = wanted.find((name) => !EVENT_FIELDS.includes(name));
  if (unknown === undefined) return new Set(["event_type", ...wanted]);
  throw new RfsStacksError(
    "RFS_FILTER_INVALID",
    `"${unknown.slice(0, 64)}" is not a field of events: ${EVENT_FIELDS.join(", ")}`,
  );
}

function eventView(event: RfsEvent): Readonly<Record<string, unknown>> {
  const { type, message, atMs, elapsedMs, resource } = event;
  return {
    event_type: type,
    event_message: message,
    time: timeText(atMs),
    ...(elapsedMs !== undefined && { elapsed_seconds: Math.floor(elapsedMs / 1_000) }),
    ...(resource !== undefined && {
      resource_type: resource.type,
      resource_name: resource.name,
      resource_key: resource.key,
      ...(resource.id !== "" && { resource_id_key: "id", resource_id_value: resource.id }),
    }),
  };
}
