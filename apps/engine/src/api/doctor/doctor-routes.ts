import { hasRole } from "@stackwright/registry";
import type { FastifyInstance } from "fastify";
import { Type } from "typebox";
import { examine } from "../../doctor/examine.ts";
import { FINDINGS, type Finding } from "../../doctor/finding.ts";
import { type ApiParts, routeSchema } from "../api-parts.ts";
import { timeOf } from "../runs/run-view.ts";
import { findingView } from "./finding-view.ts";

/** Findings of one answer. */
const MAX_LISTED = 500;
/** Longer than a lease that is not renewed lasts. */
const TIMEOUT_MS = 60_000;

const FindingView = Type.Object(
  {
    code: Type.Unsafe<Finding["code"]>({ type: "string", enum: Object.keys(FINDINGS) }),
    severity: Type.Union([Type.Literal("error"), Type.Literal("warning")], {
      description: "error: it stays as it is until a user acts",
    }),
    project: Type.Optional(Type.String()),
    stack: Type.Optional(Type.String()),
    run: Type.Optional(Type.String()),
    since: Type.Optional(Type.String()),
    detail: Type.String({ description: "what it is, and why" }),
    advice: Type.String({ description: "what to do" }),
  },
  { title: "Finding" },
);

/** `/doctor`: what is stuck in the account of the caller, and why. */
export function doctorRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, clock, credentials, server, stuck, principalOf, stopping } = parts;

  fastify.get(
    "/doctor",
    {
      schema: routeSchema(
        "Say what is stuck in the account, and why: with the role site-admin also of the server itself",
        "Examine",
        {
          200: Type.Object({
            checked_at: Type.String(),
            findings: Type.Array(FindingView),
            total: Type.Integer({ description: "with those that are left out" }),
            server: Type.Boolean({ description: "whether the server itself was examined" }),
          }),
        },
      ),
      config: { access: "account-admin" },
    },
    async (request, reply) => {
      const principal = principalOf(request);
      const gone = new AbortController();
      reply.raw.once("close", () => gone.abort());
      using _late = clock.after(TIMEOUT_MS, () => gone.abort());
      const isOperator = hasRole(principal, "operator");
      const nowMs = clock.wallMs();
      const found = await examine({
        storage,
        clock,
        credentials,
        account: principal.account,
        stuck,
        server: isOperator ? server : undefined,
        signal: AbortSignal.any([gone.signal, stopping]),
      });
      return {
        checked_at: timeOf(BigInt(nowMs)),
        findings: found.slice(0, MAX_LISTED).map(findingView),
        total: found.length,
        server: isOperator,
      };
    },
  );
}
