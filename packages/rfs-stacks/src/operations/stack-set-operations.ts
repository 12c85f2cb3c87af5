import { RfsStacksError } from "../errors.ts";
import type { RfsStackSet } from "../port/stack-set-port.ts";
import { BodyFields } from "../request/body-fields.ts";
import { eventFilter } from "../request/event-filter.ts";
import { checkName } from "../request/names.ts";
import { pageOf } from "../request/page.ts";
import { sorted } from "../request/sort.ts";
import { TEMPLATE_FIELDS } from "../template/read-template.ts";
import { checkCallIdentity, findStackSet, setBusy } from "./find-stack-set.ts";
import { LINK_MS, listName, type Operation, type OperationCall, queryOf } from "./operation.ts";
import { readSetTemplate, SET_VARIABLE_FIELDS } from "./set-template.ts";

const SETS = "/stack-sets";
const SET = `${SETS}/:stack_set_name`;
const DESCRIPTION = { max: 1024 } as const;
const AGENCY = { max: 64 } as const;
const URN = { max: 256 } as const;
const ID = { min: 1, max: 36 } as const;
const SETTING_FIELDS = [
  "stack_set_description",
  "initial_stack_description",
  "administration_agency_name",
  "administration_agency_urn",
  "managed_agency_name",
  "managed_operation",
];
const LIST_FIELDS = ["filter", "sort_key", "sort_dir", "call_identity", "marker", "limit"];

/** The operations that make, show, change and delete stack sets. */
export const STACK_SET_OPERATIONS: readonly Operation[] = [
  {
    name: "CreateStackSet",
    method: "POST",
    path: SETS,
    scope: "account",
    access: "admin",
    status: 201,
    hasBody: true,
    async run(call) {
      const { port, caller, signal } = call;
      const fields = new BodyFields(call.body, [
        "stack_set_name",
        "permission_model",
        "call_identity",
        ...SETTING_FIELDS,
        ...TEMPLATE_FIELDS,
        ...SET_VARIABLE_FIELDS,
      ]);
      const name = checkName("stack_set_name", fields.requiredText("stack_set_name", { max: 128 }));
      checkIdentity(fields);
      if (fields.oneOf("permission_model", MODELS) === "SERVICE_MANAGED") {
        throw new RfsStacksError(
          "RFS_NOT_OFFERED",
          "permission_model: this server has no organizations; leave it out, or give SELF_MANAGED",
        );
      }
      const settings = settingsOf(fields);
      const template = await readSetTemplate(call, fields);
      const id = await port.stackSets.create(
        caller,
        {
          name,
          description: settings.description ?? "",
          initialStackDescription: settings.initialStackDescription ?? "",
          administrationAgencyName: settings.administrationAgencyName ?? "",
          administrationAgencyUrn: settings.administrationAgencyUrn ?? "",
          managedAgencyName: settings.managedAgencyName ?? "",
          parallelOperations: settings.parallelOperations ?? false,
          template,
        },
        signal,
      );
      if (id === undefined) {
        throw new RfsStacksError("RFS_STACK_SET_EXISTS", `the account has a stack set "${name}"`);
      }
      return { body: { stack_set_id: id } };
    },
  },
  {
    name: "ListStackSets",
    method: "GET",
    path: SETS,
    scope: "account",
    access: "viewer",
    status: 200,
    hasBody: false,
    async run(call) {
      const { port, caller } = call;
      const query = queryOf(call, ...LIST_FIELDS);
      checkCallIdentity(query.get("call_identity"));
      const matches = eventFilter(query.get("filter"), ["permission_model"]);
      const views = (await port.stackSets.list(caller)).map(itemView).filter(matches);
      const page = pageOf(sorted(views, query), query, {
        key: await port.markerKey(),
        list: listName(call, "stack-sets"),
        keyOf: ({ stack_set_id: id }) => id,
      });
      return { body: { stack_sets: page.items, page_info: page.page_info } };
    },
  },
  {
    name: "ShowStackSetMetadata",
    method: "GET",
    path: `${SET}/metadata`,
    scope: "account",
    access: "viewer",
    status: 200,
    hasBody: false,
    async run(call) {
      return { body: metadataView(await byQuery(call)) };
    },
  },
  {
    name: "ShowStackSetTemplate",
    method: "GET",
    path: `${SET}/templates`,
    scope: "account",
    access: "viewer",
    status: 307,
    hasBody: false,
    async run(call) {
      const set = await byQuery(call, "access_control_source_ips", "access_control_source_vpc_ids");
      const { account } = call.caller;
      const target = { kind: "stack-set", account, set: set.name, id: set.id } as const;
      return { content: await call.port.signContent(call.caller, target, LINK_MS) };
    },
  },
  {
    name: "UpdateStackSet",
    method: "PATCH",
    path: SET,
    scope: "account",
    access: "admin",
    status: 204,
    hasBody: true,
    async run(call) {
      const known = ["stack_set_id", "call_identity", ...SETTING_FIELDS];
      const fields = new BodyFields(call.body, known);
      checkIdentity(fields);
      const set = await findStackSet(call, fields.text("stack_set_id", ID));
      const change = settingsOf(fields, set);
      if (!SETTING_FIELDS.some((name) => fields.has(name))) {
        throw new RfsStacksError("RFS_NOTHING_TO_UPDATE");
      }
      if (!(await call.port.stackSets.change(call.caller, set, change))) throw setBusy(set);
      return undefined;
    },
  },
  {
    name: "DeleteStackSet",
    method: "DELETE",
    path: SET,
    scope: "account",
    access: "admin",
    status: 204,
    hasBody: false,
    async run(call) {
      const set = await byQuery(call);
      const outcome = await call.port.stackSets.remove(call.caller, set);
      if (outcome === "removed") return undefined;
      if (outcome === "busy") throw setBusy(set);
      throw new RfsStacksError(
        "RFS_STACK_SET_NOT_EMPTY",
        `the stack set "${set.name}" has instances; delete them first`,
      );
    },
  },
];

const MODELS = ["SELF_MANAGED", "SERVICE_MANAGED"] as const;

function checkIdentity(fields: BodyFields): void {
  checkCallIdentity(fields.text("call_identity", { max: 32 }));
}

async function byQuery(call: OperationCall, ...more: readonly string[]): Promise<RfsStackSet> {
  const query = queryOf(call, "stack_set_id", "call_identity", ...more);
  checkCallIdentity(query.get("call_identity"));
  return findStackSet(call, query.get("stack_set_id"));
}

/** What a request gives of the members of a set. A name of an agency replaces a URN of one, and the other way round. */
function settingsOf(fields: BodyFields, known?: RfsStackSet) {
  const name = fields.text("administration_agency_name", AGENCY);
  const urn = fields.text("administration_agency_urn", URN);
  if (name !== undefined && urn !== undefined) {
    throw new RfsStacksError(
      "RFS_PARAMETER_CONFLICT",
      "administration_agency_name and administration_agency_urn are both given; give one of them",
    );
  }
  const replaces = known !== undefined && (name ?? urn) !== undefined;
  return {
    description: fields.text("stack_set_description", DESCRIPTION),
    initialStackDescription: fields.text("initial_stack_description", DESCRIPTION),
    administrationAgencyName: name ?? (replaces ? "" : undefined),
    administrationAgencyUrn: urn ?? (replaces ? "" : undefined),
    managedAgencyName: fields.text("managed_agency_name", AGENCY),
    parallelOperations: fields
      .object("managed_operation", ["enable_parallel_operation"])
      ?.flag("enable_parallel_operation"),
  };
}

function itemView(set: RfsStackSet) {
  const { createdAtMs, updatedAtMs } = set;
  return {
    stack_set_id: set.id,
    stack_set_name: set.name,
    stack_set_description: set.description,
    permission_model: "SELF_MANAGED",
    status: set.inProgress ? "OPERATION_IN_PROGRESS" : "IDLE",
    create_time: new Date(createdAtMs).toISOString(),
    update_time: new Date(updatedAtMs).toISOString(),
  };
}

function metadataView(set: RfsStackSet): object {
  const { administrationAgencyName: name, administrationAgencyUrn: urn } = set;
  return {
    ...itemView(set),
    initial_stack_description: set.initialStackDescription,
    ...(name !== "" && { administration_agency_name: name }),
    ...(urn !== "" && { administration_agency_urn: urn }),
    ...(set.managedAgencyName !== "" && { managed_agency_name: set.managedAgencyName }),
    managed_operation: { enable_parallel_operation: set.parallelOperations },
    // Any of them may be a secret.
    ...(set.variables.length > 0 && { vars_body: "<sensitive>" }),
  };
}
