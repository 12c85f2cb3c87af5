import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { NOT_OFFERED_OPERATIONS } from "./not-offered-operations.ts";
import { OPERATIONS } from "./operations.ts";

const PAGE = join(import.meta.dirname, "../../../../apps/engine/docs/rfs-stacks.md");

/** The roles of the page by what an operation needs in its project. */
const ROLES = { viewer: "reader", planner: "planner", operator: "deployer", admin: "admin" };

/** A path in which names of parameters do not count; the address of an instance is one of them. */
const shape = (path: string): string =>
  path.replaceAll(/\{\w+\}|:\w+/g, "{}").replace(/\{\}\/\{\}$/, "{}");

interface Row {
  readonly name: string;
  readonly request: string;
  readonly role: string;
  readonly status: number;
}

async function pageRows(): Promise<readonly Row[]> {
  const page = await readFile(PAGE, "utf8");
  const row = /^\| (\w+) +\| ([A-Z]+) `([^`]+)` +\| `registry:(\w+)` +\| (\d+) +\|$/gm;
  return [...page.matchAll(row)].map(([, name = "", method, path = "", role = "", status]) => ({
    name,
    request: `${method} ${shape(path)}`,
    role,
    status: Number(status),
  }));
}

const offered = OPERATIONS.filter((operation) => !NOT_OFFERED_OPERATIONS.includes(operation));

it("the tables of the page have each operation with its request and its answer", async () => {
  const line = ({ name, request, status }: Omit<Row, "role">) => `${name} ${request} ${status}`;
  const existing = offered.map(({ name, method, path, status }) =>
    line({
      name,
      request: `${method} ${shape(path)}`,
      // Every call of it is refused.
      status: name === "EstimateExecutionPlanPrice" ? 501 : status,
    }),
  );
  const written = (await pageRows()).map(line);
  expect(written.toSorted()).toEqual([...new Set(existing)].toSorted());
});

// Those of stack sets are needed in each project that a request names, which the server sees in the request.
it("the table of the page has the role of each operation of a project", async () => {
  const own = offered.filter(({ scope }) => scope !== "account");
  const names = new Set(own.map(({ name }) => name));
  const written = (await pageRows()).filter(({ name }) => names.has(name));
  const roles = written.map(({ name, role }) => `${name} ${role}`);
  const needed = own.map(({ name, access }) => `${name} ${ROLES[access]}`);
  expect(roles.toSorted()).toEqual([...new Set(needed)].toSorted());
});
