import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";

const ROOT = join(import.meta.dirname, "..", "..", "..");

interface Workflow {
  readonly jobs: Readonly<Record<string, { readonly steps: readonly { readonly run?: string }[] }>>;
}

it.each(globSync(".github/{workflows,ISSUE_TEMPLATE}/*.yml", { cwd: ROOT }))(
  "%s is YAML",
  (path) => {
    expect(parse(readFileSync(join(ROOT, path), "utf8"))).toBeTypeOf("object");
  },
);

it("workflows run programs that exist", () => {
  const files = globSync(["{.github/workflows,examples/ci}/*.yml"], { cwd: ROOT });
  const commands = files.flatMap((path) => {
    const { jobs } = parse(readFileSync(join(ROOT, path), "utf8")) as Partial<Workflow>;
    return Object.values(jobs ?? {}).flatMap(({ steps }) =>
      steps.flatMap(({ run }) => (run === undefined ? [] : [run.split(/[ "]/)[0] ?? ""])),
    );
  });
  expect(commands).toContain(".ci/run");
  for (const command of commands.filter((word) => word.includes("/"))) {
    // Readers copy the examples to that folder.
    const path = command.startsWith("ci/") ? `examples/ci/${basename(command)}` : command;
    expect(existsSync(join(ROOT, path)), command).toBe(true);
  }
});

it("secrets are given to single steps", () => {
  for (const path of globSync(".github/workflows/*.yml", { cwd: ROOT })) {
    const text = readFileSync(join(ROOT, path), "utf8");
    const outside = JSON.stringify(parse(text), (key, value: unknown) =>
      key === "steps" ? undefined : value,
    );
    expect(outside, path).not.toContain("secrets.");
  }
});

it("the pipeline of GitLab calls the scripts", () => {
  const { plan, apply } = parse(
    readFileSync(join(ROOT, "examples/ci/gitlab.yml"), "utf8"),
  ) as Record<"plan" | "apply", { readonly script: readonly string[] }>;
  for (const [line] of [plan.script, apply.script]) {
    const script = /^ci\/(\S+)/.exec(line ?? "")?.[1] ?? "";
    expect(existsSync(join(ROOT, "examples/ci", script))).toBe(true);
  }
});

it("actions are pinned by their digests, with the version for readers", () => {
  for (const path of globSync(".github/workflows/*.yml", { cwd: ROOT })) {
    const lines = readFileSync(join(ROOT, path), "utf8").split("\n");
    for (const line of lines.filter((one) => /\buses:/.test(one))) {
      expect(line, path).toMatch(/uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
    }
  }
});

it("jobs that can sign or write install nothing", () => {
  const { jobs } = parse(
    readFileSync(join(ROOT, ".github/workflows/release.yml"), "utf8"),
  ) as Workflow & {
    readonly jobs: Readonly<
      Record<string, { readonly permissions: Readonly<Record<string, string>> }>
    >;
  };
  const powerful = Object.values(jobs).filter(({ permissions }) =>
    Object.values(permissions).includes("write"),
  );
  expect(powerful).toHaveLength(2);
  for (const { steps } of powerful) {
    expect(steps.map(({ run }) => run ?? "").join("\n")).not.toMatch(/\binstall\b|\bpnpm\b/);
  }
});
