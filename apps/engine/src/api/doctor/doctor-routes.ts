import { hasRole } from "@stackwright/registry";
import type { FastifyInstance } from "fastify";
import { Type } from "typebox";
import { examine } from "../../doctor/examine.ts";
import { FINDINGS, type Finding } from "../../doctor/finding.ts";
import { isServerError } from "../../domain/server-error.ts";
import { type QuarantinedUse, quarantinedUses } from "../../live/quarantined-uses.ts";
import { sortedStacks } from "../../live/search-resources.ts";
import { type ApiParts, routeSchema } from "../api-parts.ts";
import { timeOf } from "../runs/run-view.ts";
import { synced } from "../watch/synced.ts";
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
  const { live, upstream, workers } = parts;

  /** As far as the server has read its store: what it does not know yet keeps nothing else from being found. */
  async function usesOf(account: string, signal: AbortSignal): Promise<readonly QuarantinedUse[]> {
    const { findStanding } = workers;
    if (findStanding === undefined) return [];
    // So a server whose accounts have nothing in quarantine follows no objects for the doctor.
    if ((await upstream.quarantined(account, undefined)).length === 0) return [];
    try {
      await synced(live.stackChanges, clock, signal);
      await synced(live.resources.all, clock, signal);
    } catch (error) {
      if (isServerError(error, "store_unavailable")) return [];
      throw error;
    }
    const stacks = sortedStacks(live, (stack) => stack.account === account);
    return quarantinedUses(live, { stacks, account, findStanding, signal });
  }

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
        quarantinedUses: async (signal) => usesOf(principal.account, signal),
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
