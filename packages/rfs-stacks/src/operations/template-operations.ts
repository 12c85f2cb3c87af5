import { RfsStacksError } from "../errors.ts";
import type {
  NewRfsTemplateVersion,
  RfsTemplate,
  RfsTemplateVersion,
} from "../port/template-port.ts";
import { BodyFields } from "../request/body-fields.ts";
import { checkName } from "../request/names.ts";
import { pageOf } from "../request/page.ts";
import { requireTemplateFile, TEMPLATE_FIELDS, templateFiles } from "../template/read-template.ts";
import { templateModule } from "../template/template-module.ts";
import { templateVariables } from "../template/template-variables.ts";
import {
  LINK_MS,
  listName,
  type Operation,
  type OperationCall,
  queryOf,
  timeText,
} from "./operation.ts";

const TEMPLATES = "/templates";
const TEMPLATE = `${TEMPLATES}/:template_name`;
const VERSIONS = `${TEMPLATE}/versions`;
const VERSION = `${VERSIONS}/:version_id`;
const DESCRIPTION = { max: 1024 } as const;
const ID = { min: 1, max: 36 } as const;
const VERSION_ID = /^V([1-9][0-9]{0,8})$/;
const MAX_VERSIONS = 100;

/** The operations of templates that are kept, and of the analysis of one. */
export const TEMPLATE_OPERATIONS: readonly Operation[] = [
  {
    name: "ParseTemplateVariables",
    method: "POST",
    path: "/template-analyses/variables",
    access: "planner",
    status: 200,
    hasBody: true,
    async run(call) {
      const fields = new BodyFields(call.body, TEMPLATE_FIELDS);
      const file = await requireTemplateFile(call.port, fields, call.signal);
      const config = templateModule(await templateFiles(file, call.signal));
      return { body: { variables: templateVariables(config) } };
    },
  },
  {
    name: "ListTemplates",
    method: "GET",
    path: TEMPLATES,
    access: "viewer",
    status: 200,
    hasBody: false,
    async run(call) {
      const { port, caller, project } = call;
      const query = queryOf(call, "marker", "limit");
      const page = pageOf(await port.templates.list(caller, project), query, {
        key: await port.markerKey(),
        list: listName(call, "templates"),
        keyOf: ({ id }) => id,
      });
      return { body: { templates: page.items.map(templateView), page_info: page.page_info } };
    },
  },
  {
    name: "CreateTemplate",
    method: "POST",
    path: TEMPLATES,
    access: "operator",
    status: 200,
    hasBody: true,
    async run(call) {
      const { port, caller, project, signal } = call;
      const fields = new BodyFields(call.body, [
        "template_name",
        "template_description",
        "version_description",
        ...TEMPLATE_FIELDS,
      ]);
      const name = checkName("template_name", fields.requiredText("template_name", { max: 128 }));
      const description = fields.text("template_description", DESCRIPTION) ?? "";
      const version = await versionOf(call, fields);
      const id = await port.templates.create(
        caller,
        project,
        { name, description },
        version,
        signal,
      );
      if (id === undefined) {
        throw new RfsStacksError("RFS_TEMPLATE_EXISTS", `the project has a template "${name}"`);
      }
      return { body: { template_id: id } };
    },
  },
  {
    name: "ShowTemplateMetadata",
    method: "GET",
    path: `${TEMPLATE}/metadata`,
    access: "viewer",
    status: 200,
    hasBody: false,
    async run(call) {
      return { body: templateView(await byQuery(call)) };
    },
  },
  {
    name: "UpdateTemplateMetadata",
    method: "PATCH",
    path: `${TEMPLATE}/metadata`,
    access: "operator",
    status: 204,
    hasBody: true,
    async run(call) {
      const fields = new BodyFields(call.body, ["template_id", "template_description"]);
      const { name } = await findTemplate(call, fields.text("template_id", ID));
      const description = fields.text("template_description", DESCRIPTION);
      if (description === undefined) throw new RfsStacksError("RFS_NOTHING_TO_UPDATE");
      await call.port.templates.change(call.caller, call.project, name, description);
      return undefined;
    },
  },
  {
    name: "DeleteTemplate",
    method: "DELETE",
    path: TEMPLATE,
    access: "operator",
    status: 204,
    hasBody: false,
    async run(call) {
      const { name } = await byQuery(call);
      await call.port.templates.remove(call.caller, call.project, name);
      return undefined;
    },
  },
  {
    name: "ListTemplateVersions",
    method: "GET",
    path: VERSIONS,
    access: "viewer",
    status: 200,
    hasBody: false,
    async run(call) {
      const query = queryOf(call, "template_id", "marker", "limit");
      const template = await findTemplate(call, query.get("template_id"));
      const page = pageOf(template.versions.toReversed(), query, {
        key: await call.port.markerKey(),
        list: listName(call, "versions", template.id),
        keyOf: ({ number }) => String(number),
      });
      const versions = page.items.map((version) => versionView(template, version));
      return { body: { versions, page_info: page.page_info } };
    },
  },
  {
    name: "CreateTemplateVersion",
    method: "POST",
    path: VERSIONS,
    access: "operator",
    status: 200,
    hasBody: true,
    async run(call) {
      const { port, caller, project, signal } = call;
      const known = ["template_id", "version_description", ...TEMPLATE_FIELDS];
      const fields = new BodyFields(call.body, known);
      const { name, versions } = await findTemplate(call, fields.text("template_id", ID));
      if (versions.length >= MAX_VERSIONS) {
        throw new RfsStacksError(
          "RFS_LIMIT_REACHED",
          `the template "${name}" has ${MAX_VERSIONS} versions; delete one first`,
        );
      }
      const version = await versionOf(call, fields);
      const number = await port.templates.addVersion(caller, project, name, version, signal);
      return { body: { version_id: `V${number}` } };
    },
  },
  {
    name: "ShowTemplateVersionMetadata",
    method: "GET",
    path: `${VERSION}/metadata`,
    access: "viewer",
    status: 200,
    hasBody: false,
    async run(call) {
      const { template, version } = await findVersion(call, queryOf(call, "template_id"));
      return { body: versionView(template, version) };
    },
  },
  {
    name: "ShowTemplateVersionContent",
    method: "GET",
    path: VERSION,
    access: "viewer",
    status: 307,
    hasBody: false,
    async run(call) {
      const { port, caller, project } = call;
      const query = queryOf(
        call,
        "template_id",
        "access_control_source_ips",
        "access_control_source_vpc_ids",
      );
      const { template, version } = await findVersion(call, query);
      const target = {
        kind: "template",
        account: caller.account,
        project,
        template: template.name,
        version: version.number,
      } as const;
      return { content: await port.signContent(caller, target, LINK_MS) };
    },
  },
  {
    name: "DeleteTemplateVersion",
    method: "DELETE",
    path: VERSION,
    access: "operator",
    status: 204,
    hasBody: false,
    async run(call) {
      const { template, version } = await findVersion(call, queryOf(call, "template_id"));
      const { port, caller, project } = call;
      await port.templates.removeVersion(caller, project, template.name, version.number);
      return undefined;
    },
  },
];

/** The version that a request gives; one that does not parse is refused. */
async function versionOf(call: OperationCall, fields: BodyFields): Promise<NewRfsTemplateVersion> {
  const file = await requireTemplateFile(call.port, fields, call.signal);
  templateModule(await templateFiles(file, call.signal));
  return { ...file, description: fields.text("version_description", DESCRIPTION) ?? "" };
}

async function byQuery(call: OperationCall): Promise<RfsTemplate> {
  return findTemplate(call, queryOf(call, "template_id").get("template_id"));
}

async function findTemplate(call: OperationCall, id: string | undefined): Promise<RfsTemplate> {
  const name = call.params["template_name"] ?? "";
  const found = await call.port.templates.find(call.caller, call.project, name);
  if (found === undefined) {
    throw new RfsStacksError(
      "RFS_TEMPLATE_NOT_FOUND",
      `there is no template "${name.slice(0, 128)}"`,
    );
  }
  if (id === undefined || id === found.id) return found;
  throw new RfsStacksError(
    "RFS_TEMPLATE_ID_MISMATCH",
    `the template "${name}" has the id ${found.id}, which is not the one that was given`,
  );
}

async function findVersion(
  call: OperationCall,
  query: ReturnType<typeof queryOf>,
): Promise<{ readonly template: RfsTemplate; readonly version: RfsTemplateVersion }> {
  const template = await findTemplate(call, query.get("template_id"));
  const id = call.params["version_id"] ?? "";
  const [, number = ""] = VERSION_ID.exec(id) ?? [];
  const version = template.versions.find((one) => String(one.number) === number);
  if (version !== undefined) return { template, version };
  throw new RfsStacksError(
    "RFS_TEMPLATE_NOT_FOUND",
    `the template "${template.name}" has no version ${id.slice(0, 16)}`,
  );
}

function templateView(template: RfsTemplate): object {
  const { name, id, description, createdAtMs, updatedAtMs, versions } = template;
  const latest = versions.at(-1);
  return {
    template_id: id,
    template_name: name,
    template_description: description,
    create_time: timeText(createdAtMs),
    update_time: timeText(updatedAtMs),
    ...(latest !== undefined && {
      latest_version_id: `V${latest.number}`,
      latest_version_description: latest.description,
    }),
  };
}

function versionView(template: RfsTemplate, version: RfsTemplateVersion): object {
  return {
    template_id: template.id,
    template_name: template.name,
    version_id: `V${version.number}`,
    version_description: version.description,
    create_time: timeText(version.createdAtMs),
  };
}
