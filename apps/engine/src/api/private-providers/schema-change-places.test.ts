import { createManualClock } from "@stackwright/base/testing";
import fastify from "fastify";
import { expect, it, onTestFinished } from "vitest";
import type { FindSchemaChanges } from "../../domain/find-schema-changes.ts";
import { ServerError } from "../../domain/server-error.ts";
import type { ApiParts } from "../api-parts.ts";
import { answerProblem } from "../problem.ts";
import { compileRequestValidator } from "../validate-request.ts";
import { schemaChangeRoutes } from "./schema-change-routes.ts";

const CHANGES = "/private-providers/notes/schema-changes?from=1.0.0&to=1.1.0";

it("an account has a bounded number of comparisons open, and another one has its own", async () => {
  const app = fastify();
  onTestFinished(async () => app.close());
  app.setValidatorCompiler(compileRequestValidator);
  app.setErrorHandler(async (error, request, reply) => answerProblem(request, reply, error));
  const end = Promise.withResolvers<never>();
  const begun: string[] = [];
  const enough = Promise.withResolvers<void>();
  const schemaChanges: FindSchemaChanges = async ({ account }) => {
    begun.push(account);
    if (begun.length === 5) enough.resolve();
    return end.promise;
  };
  schemaChangeRoutes(app, {
    clock: createManualClock(),
    stopping: new AbortController().signal,
    principalOf: (request: { headers: Record<string, string> }) => ({
      account: request.headers["x-account"],
    }),
    schemaChanges,
  } as unknown as ApiParts);
  const ask = async (account: string) =>
    app.inject({ url: CHANGES, headers: { "x-account": account } });
  const open = ["acme", "acme", "acme", "acme", "other"].map(ask);
  await enough.promise;
  const refused = await ask("acme");
  expect([refused.statusCode, refused.json()]).toMatchObject([429, { code: "rate_limited" }]);
  expect(refused.headers["retry-after"]).toBe("5");
  expect(begun).toEqual(["acme", "acme", "acme", "acme", "other"]);
  end.reject(new ServerError("upstream_failed", "a function does not answer"));
  for (const answer of await Promise.all(open)) expect(answer.statusCode).toBe(502);
  // The places are free again.
  expect((await ask("acme")).statusCode).toBe(502);
});
