import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { folderWith, RESOURCE, STATE, stateServer } from "../testing/adoption-folder.ts";

const HTTP = `terraform {\n  backend "http" {\n    address = "http://127.0.0.1:1/state"\n  }\n}\n`;

/** What the other command writes when it makes an object more. */
function written(serial: number): string {
  return STATE.replace('"serial":7', `"serial":${serial}`).replace('"name":"a"', '"name":"theirs"');
}

describe("an adoption that ended between recording and fencing", () => {
  it("leaves the marker with the next adopt", async () => {
    const { run, path } = await folderWith({ "terraform.tfstate": STATE });
    expect(await run(["adopt", "--yes"])).toMatchObject({ code: 0 });
    const marker = readFileSync(path("terraform.tfstate"), "utf8");
    writeFileSync(path("terraform.tfstate"), STATE);
    rmSync(path("terraform.tfstate.adopted-7"));
    const { code, output } = await run(["adopt", "--yes"]);
    expect(code, output).toBe(0);
    expect(output).toContain("kept as terraform.tfstate.adopted-7");
    expect(readFileSync(path("terraform.tfstate"), "utf8")).toBe(marker);
    expect(readFileSync(path("terraform.tfstate.adopted-7"), "utf8")).toBe(STATE);
    expect((await run(["adopt", "--yes"])).output).not.toContain("kept as");
  });

  it("names the state that another command has written meanwhile", async () => {
    const { run, path } = await folderWith({ "terraform.tfstate": STATE });
    expect(await run(["adopt", "--yes"])).toMatchObject({ code: 0 });
    writeFileSync(path("terraform.tfstate"), written(8));
    const { code, output } = await run(["adopt", "--yes"]);
    expect(code, output).toBe(1);
    expect(output).toContain("another command has written it since");
    expect(readFileSync(path("terraform.tfstate"), "utf8")).toBe(written(8));
    expect(readFileSync(path("terraform.tfstate.adopted-7"), "utf8")).toBe(STATE);
  });

  it("takes the lock again that should be there", async () => {
    const server = await stateServer(STATE);
    const backend = `terraform {\n  backend "http" {\n    address = "${server.url}"\n    lock_address = "${server.url}"\n  }\n}\n`;
    const { run } = await folderWith({ "b.tf": backend });
    expect(await run(["adopt", "--yes"])).toMatchObject({ code: 0 });
    const { lock } = server;
    expect(lock).toContain("stackwright adopt");
    expect((await run(["adopt", "--yes"])).output).not.toContain("locked with ID");
    server.lock = undefined;
    expect((await run(["adopt", "--yes"])).output).toContain("locked with ID");
    expect(JSON.parse(server.lock ?? "{}")).toMatchObject({ ID: JSON.parse(lock ?? "{}").ID });
  });
});

it.each([2, 3])(
  "records nothing where a writer without a lock has changed the state by reading %i",
  async (changed) => {
    const server = await stateServer(STATE);
    const { run } = await folderWith({
      "b.tf": `terraform {\n  backend "http" {\n    address = "${server.url}"\n  }\n}\n`,
    });
    let readings = 0;
    server.onRead = () => {
      readings += 1;
      return readings === changed ? written(8) : undefined;
    };
    const { code, output } = await run(["adopt", "--yes"]);
    server.onRead = undefined;
    expect(code, output).not.toBe(0);
    expect(readings).toBeGreaterThanOrEqual(changed);
    expect(await run(["plan"])).toMatchObject({ code: 1 });
    if (changed === 3) expect(output).toContain("another command wrote the state meanwhile");
  },
);

it("does not take an attribute for an encryption", async () => {
  const state = STATE.replace(
    '"input":{"value":1,"type":"number"}',
    '"input":{"value":{"encrypted_data":"x"},"type":["object",{"encrypted_data":"string"}]}',
  ).replace(
    '"output":{"value":1,"type":"number"}',
    '"output":{"value":{"encrypted_data":"x"},"type":["object",{"encrypted_data":"string"}]}',
  );
  const { run } = await folderWith({
    "main.tf": RESOURCE.replace("1", '{ encrypted_data = "x" }'),
    "terraform.tfstate": state,
  });
  const { code, output } = await run(["adopt", "--yes"]);
  expect(code, output).toBe(0);
});

describe("adopt --fresh", () => {
  it.each([
    ["an encrypted state", { "terraform.tfstate": `{"encrypted_data":"x"}` }],
    ["a state that was cut off", { "terraform.tfstate": STATE.slice(0, 40) }],
    ["a marker of another stack", { "terraform.tfstate": `{"version":99,"adopted_by":"x"}` }],
  ])("does not take %s for none", async (_name, files) => {
    const { run } = await folderWith(files);
    const { code, error } = await run(["adopt", "--fresh"]);
    expect(code).toBe(1);
    expect(error).toContain("--force");
    expect(await run(["plan"])).toMatchObject({ code: 1 });
  });

  it.each([
    ["the block", false],
    ["the record of init alone", true],
  ])("does not take a state for none that it cannot read, by %s", async (_name, isRecorded) => {
    const { url } = await stateServer(`{"encrypted_data":"x","serial":1,"lineage":"y"}`);
    const config = { address: url };
    const { run } = await folderWith(
      isRecorded
        ? { ".terraform/terraform.tfstate": JSON.stringify({ backend: { type: "http", config } }) }
        : { "b.tf": `terraform {\n  backend "http" {\n    address = "${url}"\n  }\n}\n` },
    );
    const { code, error } = await run(["adopt", "--fresh"]);
    expect(code).toBe(1);
    expect(error).toContain("not readable");
    expect(await run(["plan"])).toMatchObject({ code: 1 });
  });

  it("does not forget where a stack without objects was adopted from", async () => {
    const { run } = await folderWith({ "terraform.tfstate": STATE });
    expect(await run(["adopt", "--yes"])).toMatchObject({ code: 0 });
    expect(await run(["destroy", "-y"])).toMatchObject({ code: 0 });
    const { code, error } = await run(["adopt", "--fresh", "--force", "--confirm", "default"]);
    expect(code).toBe(1);
    expect(error).toContain("has adopted a state: file terraform.tfstate");
    expect(await run(["hand-back", "--yes"])).toMatchObject({ code: 0 });
  });
});

it.each([
  [
    "a backend block of OpenTofu in place of that of the same file",
    { "b.tf": `terraform {\n  backend "local" {}\n}\n`, "b.tofu": HTTP },
  ],
  [
    "a state where a changed block has it",
    {
      "b.tf": `terraform {\n  backend "local" {\n    path = "new.tfstate"\n  }\n}\n`,
      ".terraform/terraform.tfstate": `{"backend":{"type":"local","config":{"path":"old.tfstate"}}}`,
      "new.tfstate": STATE,
    },
  ],
])("an empty stack is not planned on with %s", async (_name, files) => {
  const { run } = await folderWith(files);
  expect((await run(["plan"])).error).toContain("ENGINE_STATE_NOT_ADOPTED");
});

it("does not take another state for the adopted one", async () => {
  const { run, path } = await folderWith({ "terraform.tfstate": STATE });
  expect(await run(["adopt", "--yes"])).toMatchObject({ code: 0 });
  writeFileSync(path("b.tf"), `terraform {\n  backend "local" {\n    path = "x.tfstate"\n  }\n}\n`);
  writeFileSync(path("x.tfstate"), STATE.replace("11111111", "22222222"));
  const { code, output } = await run(["adopt", "--yes"]);
  expect(code).toBe(1);
  expect(output).toContain("has adopted another state: file terraform.tfstate");
});

describe("a state that another command wrote after the adoption", () => {
  it("is not overwritten by the mirror, whatever its serial", async () => {
    const { run, path } = await folderWith({ "terraform.tfstate": STATE });
    expect(await run(["adopt", "--yes", "--mirror"])).toMatchObject({ code: 0 });
    for (const serial of [8, 9]) {
      writeFileSync(path("terraform.tfstate"), written(serial));
      writeFileSync(path("main.tf"), RESOURCE.replace("1", `"${serial}"`));
      const { code, error } = await run(["up", "-y"]);
      expect(code, error).toBe(0);
      expect(error).toContain("another command wrote it");
      expect(readFileSync(path("terraform.tfstate"), "utf8")).toBe(written(serial));
    }
    // As if nothing was written: the mirror catches up.
    writeFileSync(path("terraform.tfstate"), STATE);
    expect((await run(["up", "-y"])).error).toBe("");
    expect(readFileSync(path("terraform.tfstate"), "utf8")).toContain('"9"');
  });

  it("is not overwritten where it has the serial of the copy and another content", async () => {
    const { run, path } = await folderWith({ "terraform.tfstate": STATE });
    expect(await run(["adopt", "--yes", "--mirror"])).toMatchObject({ code: 0 });
    writeFileSync(path("main.tf"), RESOURCE.replace("1", "2"));
    expect((await run(["up", "-y"])).error).toBe("");
    const { serial } = JSON.parse(readFileSync(path("terraform.tfstate"), "utf8"));
    const theirs = written(serial);
    writeFileSync(path("terraform.tfstate"), theirs);
    writeFileSync(path("main.tf"), RESOURCE.replace("1", "3"));
    expect((await run(["up", "-y"])).error).toContain("another command wrote it");
    expect(readFileSync(path("terraform.tfstate"), "utf8")).toBe(theirs);
  });

  it("is not overwritten by a hand-back", async () => {
    const { run, path } = await folderWith({ "terraform.tfstate": STATE });
    expect(await run(["adopt", "--yes", "--old", "none"])).toMatchObject({ code: 0 });
    writeFileSync(path("main.tf"), RESOURCE.replace("1", "2"));
    expect(await run(["up", "-y"])).toMatchObject({ code: 0 });
    writeFileSync(path("terraform.tfstate"), written(8));
    const { code, error } = await run(["hand-back", "--yes"]);
    expect(code).toBe(1);
    expect(error).toContain("another command wrote it");
    expect(readFileSync(path("terraform.tfstate"), "utf8")).toBe(written(8));
    expect(await run(["plan"])).toMatchObject({ code: 0 });
  });

  it("is not searched in another place than it was adopted from", async () => {
    const { run, path } = await folderWith({ "terraform.tfstate": STATE });
    expect(await run(["adopt", "--yes"])).toMatchObject({ code: 0 });
    writeFileSync(
      path("b.tf"),
      `terraform {\n  backend "local" {\n    path = "x.tfstate"\n  }\n}\n`,
    );
    const { code, error } = await run(["hand-back", "--yes"]);
    expect(code).toBe(1);
    expect(error).toContain("adopted from file terraform.tfstate");
    expect(existsSync(path("x.tfstate"))).toBe(false);
    rmSync(path("b.tf"));
    expect(await run(["hand-back", "--yes"])).toMatchObject({ code: 0 });
  });
});

describe("a state without a lineage", () => {
  const NO_LINEAGE = STATE.replace(/"lineage":"[^"]*"/, '"lineage":""');

  it("continues with the serial of the adopted one and one lineage", async () => {
    const { run, path } = await folderWith({ "terraform.tfstate": NO_LINEAGE });
    expect(await run(["adopt", "--yes", "--mirror"])).toMatchObject({ code: 0 });
    const copy = () => JSON.parse(readFileSync(path("terraform.tfstate"), "utf8"));
    const serials: number[] = [];
    const lineages = new Set<string>();
    for (const input of [2, 3, 4]) {
      writeFileSync(path("main.tf"), RESOURCE.replace("1", String(input)));
      expect((await run(["up", "-y"])).error).toBe("");
      serials.push(copy().serial);
      lineages.add(copy().lineage);
    }
    expect(serials[0]).toBeGreaterThan(7);
    expect(serials).toEqual(serials.toSorted((a, b) => a - b));
    expect(lineages.size).toBe(1);
    expect(JSON.parse((await run(["export-state"])).output)).toEqual(copy());
  });
});

describe("a record of init that is damaged", () => {
  const RECORD = ".terraform/terraform.tfstate";

  it.each([
    ["cut off", '{"version":3,"backend":{"type":"s3","conf', "cut off"],
    ["empty", "", "the file is empty"],
    ["another file", '{"backend":"s3"}', "not a record of a backend"],
  ])("does not count as none: %s", async (_name, text, problem) => {
    const { run } = await folderWith({ [RECORD]: text });
    for (const words of [["plan"], ["up", "-y"]]) {
      const { code, error } = await run(words);
      expect(code).not.toBe(0);
      expect(error).toContain("ENGINE_STATE_NOT_ADOPTED");
      expect(error).toContain(problem);
    }
    for (const words of [
      ["adopt", "--yes"],
      ["adopt", "--fresh"],
    ]) {
      const { code, error, output } = await run(words);
      expect(code).not.toBe(0);
      expect(error + output).toContain(RECORD);
      expect(error + output).toContain(problem);
    }
  });

  it("is accepted where init has recorded no backend", async () => {
    const { run } = await folderWith({ [RECORD]: '{"version":3,"terraform_version":"1.11.4"}' });
    expect(await run(["plan"])).toMatchObject({ code: 0 });
  });
});

describe("an emptied stack", () => {
  it("keeps the backend that it was adopted from when a state is imported", async () => {
    const server = await stateServer(STATE);
    const place = `    address = "${server.url}"\n    lock_address = "${server.url}"`;
    const { run } = await folderWith({
      "b.tf": `terraform {\n  backend "http" {\n${place}\n  }\n}\n`,
      "other.json": STATE.replace("11111111", "22222222"),
    });
    expect(await run(["adopt", "--yes"])).toMatchObject({ code: 0 });
    expect(await run(["state", "rm", "terraform_data.a", "--yes"])).toMatchObject({ code: 0 });
    const { code, error } = await run(["import-state", "other.json"]);
    expect(code).not.toBe(0);
    expect(error).toContain(`was adopted from `);
    expect(error).toContain("stackwright hand-back");
    expect(server.lock).toContain("stackwright adopt");
    expect(await run(["hand-back", "--yes"])).toMatchObject({ code: 0 });
    expect(server.lock).toBe(undefined);
    expect(await run(["import-state", "other.json", "--no-plan"])).toMatchObject({ code: 0 });
  });
});

describe("a hand-back", () => {
  const adopted = async () => {
    const server = await stateServer(STATE);
    const place = `    address = "${server.url}"\n    lock_address = "${server.url}"`;
    const block = `terraform {\n  backend "http" {\n${place}\n  }\n}\n`;
    const { run } = await folderWith({ "b.tf": block });
    expect(await run(["adopt", "--yes"])).toMatchObject({ code: 0 });
    return { server, run };
  };

  it("releases the lock with the next call where it could not", async () => {
    const { server, run } = await adopted();
    server.refuses = "UNLOCK";
    expect(await run(["hand-back", "--yes"])).toMatchObject({ code: 1 });
    expect(server.lock).toContain("stackwright adopt");
    expect((await run(["plan"])).error).toContain("handed back");
    server.refuses = "";
    expect(await run(["hand-back", "--yes"])).toMatchObject({ code: 0 });
    expect(server.lock).toBe(undefined);
    expect((await run(["hand-back", "--yes"])).output).toContain("handed back before");
  });

  it("takes the stack out of use before the other command may use the state", async () => {
    const { server, run } = await adopted();
    let during: Awaited<ReturnType<typeof run>> | undefined;
    server.onWrite = async () => {
      during = await run(["plan"]);
    };
    expect(await run(["hand-back", "--yes"])).toMatchObject({ code: 0 });
    expect(during?.error).toContain("handed back");
  });

  it("leaves the stack in use where the state cannot be written", async () => {
    const { server, run } = await adopted();
    server.refuses = "POST";
    expect(await run(["hand-back", "--yes"])).toMatchObject({ code: 1 });
    expect(await run(["plan", "-detailed-exitcode"])).toMatchObject({ code: 0 });
    server.refuses = "";
    expect(await run(["hand-back", "--yes"])).toMatchObject({ code: 0 });
    expect(server.lock).toBe(undefined);
  });
});

describe("a stack whose state was handed back", () => {
  it.each([
    [["state", "rm", "terraform_data.a", "--yes"]],
    [["state", "taint", "terraform_data.a", "--yes"]],
    [["up", "-y"]],
    [["plan"]],
    [["destroy", "-y"]],
  ])("is refused by %s, also where nothing points to the other command", async (words) => {
    const { run, path } = await folderWith({ "terraform.tfstate": STATE });
    expect(await run(["adopt", "--yes"])).toMatchObject({ code: 0 });
    expect(await run(["hand-back", "--yes"])).toMatchObject({ code: 0 });
    rmSync(path("terraform.tfstate"));
    const exported = (await run(["export-state"])).output;
    const { code, output, error } = await run(words);
    expect(code, output).toBe(1);
    expect(error).toContain("handed back");
    expect((await run(["export-state"])).output).toBe(exported);
  });
});
