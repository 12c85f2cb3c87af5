import { StackDirectory } from "@stackwright/core";
import type { StackTool } from "@stackwright/proto/stackwright";
import { readStored } from "@stackwright/storage";
import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { defaultProject, poolOf, projectPlace } from "../../domain/project-settings.ts";
import { decodeRecord } from "../../domain/record-kind.ts";
import { ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { COMMANDS_TOOL, ENGINE_TOOL, findStackTool, isOutside } from "../../queue/stack-tool.ts";
import { idOf } from "../../queue/transaction.ts";
import { switchTool } from "../../stack-tool/switch-tool.ts";
import { offers, TOOL_NAMES, TOOL_VERSION } from "../../worker/offered-tools.ts";
import {
  type ApiParts,
  checkProjectName,
  ProjectParams,
  routeSchema,
  StackParams,
  stackOf,
} from "../api-parts.ts";
import { callerGone } from "../end-of-request.ts";
import { nextPage, PageQuery, pageOf } from "../list-page.ts";
import { visibleStacks } from "./visible-stacks.ts";

const TOOL = "/projects/:project/stacks/:stack/tool";

const ToolName = Type.Union(
  [
    Type.Literal(ENGINE_TOOL),
    Type.Literal(COMMANDS_TOOL),
    ...TOOL_NAMES.map((name) => Type.Literal(name)),
  ],
  {
    title: "ToolName",
    description: "`commands`: terraform or tofu commands, where they run; no run is executed",
  },
);
const Version = Type.String({ pattern: `${TOOL_VERSION}|^$` });

const ToolView = Type.Object(
  {
    tool: ToolName,
    version: Type.Optional(Type.String({ description: "that the worker has to offer" })),
    shadow: Type.Boolean({ description: "the engine makes each plan, too, to be compared" }),
    adopt_after: Type.Integer({ description: "equal plans in a row after which that is offered" }),
    equal_in_a_row: Type.Integer(),
    can_adopt: Type.Boolean({ description: "the plans were equal often enough" }),
    attention: Type.Optional(
      Type.String({ description: "the run whose apply ended with an unknown outcome" }),
    ),
    offered: Type.Array(
      Type.Object({ tool: Type.String(), version: Type.Optional(Type.String()) }),
      { description: "what the worker of the server offers" },
    ),
  },
  { title: "StackTool" },
);

const ToolChange = Type.Object(
  {
    tool: Type.Optional(ToolName),
    version: Type.Optional(Version),
    shadow: Type.Optional(Type.Boolean()),
    adopt_after: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
  },
  { additionalProperties: false, title: "StackToolChange" },
);

type InStack = { Params: Static<typeof StackParams> };

/** `/projects/{project}/stacks/{stack}/tool`: what plans and applies a stack, and whether the engine plans beside it. */
export function toolRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, principalOf, tools } = parts;

  const viewOf = (stored: StackTool): Static<typeof ToolView> => {
    const { tool, version, shadow, adoptAfter, equal, attention } = stored;
    return {
      tool: tool as Static<typeof ToolName>,
      ...(version !== "" && { version }),
      shadow,
      adopt_after: adoptAfter,
      equal_in_a_row: equal,
      can_adopt: shadow && equal >= adoptAfter,
      ...(attention !== "" && { attention }),
      offered: tools.map(({ name, version: offered }) => ({
        tool: name,
        ...(offered !== "" && { version: offered }),
      })),
    };
  };

  fastify.get<{ Params: Static<typeof ProjectParams>; Querystring: Static<typeof PageQuery> }>(
    "/projects/:project/tools",
    {
      schema: routeSchema(
        "List the stacks of a project with the tools that plan and apply them",
        "ListStackTools",
        {
          200: Type.Object({
            stacks: Type.Array(
              Type.Object(
                { stack: Type.String(), ...ToolView.properties },
                { title: "ToolOfStack" },
              ),
            ),
            next: Type.Optional(Type.String()),
          }),
        },
        { params: ProjectParams, querystring: PageQuery },
      ),
      config: { access: "viewer", limitsStacks: true },
    },
    async (request, reply) => {
      const { project } = request.params;
      checkProjectName(project);
      const given = pageOf(request.query);
      const directory = new StackDirectory({ storage });
      const page = await visibleStacks(directory, principalOf(request), project, given);
      const stacks = await Promise.all(
        page.stacks.map(async ({ name, reference }) => ({
          stack: name,
          ...viewOf(await findStackTool(storage, reference)),
        })),
      );
      if (page.next === undefined) return { stacks };
      return { stacks, next: nextPage(request, reply, given.limit, page.next) };
    },
  );

  fastify.get<InStack>(
    TOOL,
    {
      schema: routeSchema(
        "Show which tool plans and applies a stack",
        "ShowStackTool",
        { 200: ToolView },
        { params: StackParams },
      ),
      config: { access: "viewer" },
    },
    async (request) => {
      const { reference } = await stackOf(parts, principalOf(request), request.params);
      return viewOf(await findStackTool(storage, reference));
    },
  );

  fastify.patch<InStack & { Body: Static<typeof ToolChange> }>(
    TOOL,
    {
      schema: routeSchema(
        "Set which tool plans and applies a stack; its state is handed over",
        "SetStackTool",
        { 200: ToolView },
        { params: StackParams, body: ToolChange },
        {
          409: "a run of the stack is in progress, or the stack is locked",
          412: "the state or the tool was changed meanwhile",
          422: "no worker of the server offers the tool",
        },
      ),
      config: { access: "admin" },
    },
    async (request, reply) => {
      const { actor, ...principal } = principalOf(request);
      const stack = await stackOf(parts, { actor, ...principal }, request.params);
      const { tool, version, shadow, adopt_after: adoptAfter } = request.body;
      const present = await findStackTool(storage, stack.reference);
      const wanted = { tool: tool ?? present.tool, version: version ?? "" };
      if (wanted.tool === COMMANDS_TOOL) requireNothingElse(wanted.version, shadow);
      else if (isOutside(wanted)) await requireOffer(stack, wanted);
      else if (version !== undefined && version !== "") {
        throw new ServerError("unprocessable", "the engine has the version of the server");
      } else if (shadow === true) {
        throw new ServerError("unprocessable", "the engine makes the plans of the stack itself");
      }
      const change = { tool, version, shadow, adoptAfter };
      return viewOf(
        await switchTool(parts.audited(request), {
          stack,
          ...change,
          actor,
          signal: callerGone(reply),
        }),
      );
    },
  );

  function requireNothingElse(version: string, shadow = false): void {
    if (version === "" && !shadow) return;
    throw new ServerError("unprocessable", "commands have the version and the plans of their user");
  }

  /** The workers of pools have their own lists, which the server does not know. */
  async function requireOffer(
    { reference, name: stack }: Awaited<ReturnType<typeof stackOf>>,
    { tool: name, version }: { readonly tool: string; readonly version: string },
  ): Promise<void> {
    if (offers(tools, { name, version }) !== undefined) return;
    const found = await readStored(
      storage,
      "strong",
      idOf(SERVER_KINDS.project, projectPlace(reference)),
    );
    const project =
      found === undefined
        ? defaultProject(reference.project)
        : decodeRecord(SERVER_KINDS.project, found);
    if (poolOf(project, stack) !== "") return;
    const what = version === "" ? name : `${name} ${version}`;
    throw new ServerError(
      "unprocessable",
      `the server offers no ${what}; start it with --tool ${name}=/PATH, or give the stack a pool whose workers have it`,
    );
  }
}
