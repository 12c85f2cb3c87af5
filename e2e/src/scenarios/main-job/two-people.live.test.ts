import { describe, expect, it } from "vitest";
import type { Story } from "../../environment/story.ts";
import { waitFor } from "../../testing/wait-for.ts";
import { GATED, head, note } from "./templates.ts";
import { plain, storiesOfThisFile } from "./with-story.ts";

const begin = storiesOfThisFile();

const COUNT = 1500;
/** Enough that a run can be met in the middle of its work, and a note after them. */
const MANY = `resource "terraform_data" "many" {
  count = ${COUNT}
  input = count.index
}
`;
const AFTER_MANY = "  depends_on = [terraform_data.many]";
const IN_THE_MIDDLE = "terraform_data.many[20]: Creation complete";

/** Two people, the `up` of the first of whom has made some of many objects. */
async function inTheMiddle(story: Story) {
  await story.publish(1);
  const person = await story.person();
  await person.configures(head(story, "1.0.0") + MANY + note(story, "a", "one", AFTER_MANY));
  const other = await story.secondPerson();
  const first = person.starts("up", "--yes");
  await first.says(IN_THE_MIDDLE);
  return { person, other, first };
}

describe("two users on one stack", { timeout: 300_000 }, () => {
  it("one writes, the other sees who, waits, and finds everything done", async () => {
    const story = await begin();
    await story.publish(1);
    const person = await story.person();
    await person.configures(
      `${head(story, "1.0.0")}${GATED}${note(story, "a", "one", "  depends_on = [gate_file.slow]")}
output "id" { value = notes_note.a.id }
`,
    );
    const other = await story.secondPerson();
    const first = person.starts("up", "--yes");
    await waitFor("the call", () => story.scratch.calls().includes("create slow"), {
      seen: () => first.text,
    });
    const refused = await other.runs("up", "--yes");
    expect(refused.code).toBe(1);
    expect(refused.error).toContain(`The stack "${story.provider}" is in use by `);
    expect(refused.error).toContain(`process ${first.child.pid}`);
    expect(refused.error).toContain("--lock-timeout");
    // Who only reads is not in anybody's way.
    expect(await other.runs("show")).toMatchObject({ code: 0 });

    const second = other.starts("up", "--yes", "--lock-timeout", "90s");
    await second.says("Waiting for the stack");
    await story.scratch.open("open");
    const done = await first.end();
    expect(done.code, plain(done)).toBe(0);
    const waited = await second.end();
    expect(waited.code, plain(waited)).toBe(0);
    expect(waited.output).toContain("No changes.");
    expect(story.scratch.calls()).toEqual(["create slow"]);
    expect(await other.runs("output", "-raw", "id")).toMatchObject({
      code: 0,
      output: `id-${story.provider}-a`,
    });
    expect(await story.uses()).toEqual(["1.0.0"]);
  });

  it("an up that is killed is continued by the other one, where it was", async () => {
    const story = await begin();
    const { person, other, first } = await inTheMiddle(story);
    first.signal("SIGKILL");
    await first.end();

    const second = await other.runs("up", "--yes");
    expect(second.code, plain(second)).toBe(0);
    expect(second.error).toContain(`process ${first.child.pid}`);
    const added = Number(/Apply complete: (\d+) added, 0 changed/.exec(second.output)?.[1]);
    expect(added).toBeGreaterThan(0);
    expect(added).toBeLessThan(COUNT - 10);
    expect(await story.notes()).toEqual(["a"]);
    expect(await person.runs("plan", "--detailed-exitcode")).toMatchObject({ code: 0 });
  });

  it("an up that was frozen writes nothing after another one took the stack from it", async () => {
    const story = await begin();
    const { person, other, first } = await inTheMiddle(story);
    first.signal("SIGSTOP");
    const second = await other.runs("up", "--yes");
    first.signal("SIGCONT");
    expect(second.code, plain(second)).toBe(0);
    const state = await other.recorded();
    const woken = await first.end();
    expect(woken.code).toBe(1);
    expect(plain(woken)).toMatch(
      /The apply stopped in the middle: (?:the stack went to another worker|the right to write to the stack was lost: )/,
    );
    expect(await other.recorded()).toEqual(state);
    expect(state).toHaveLength(COUNT + 1);
    expect(await story.notes()).toEqual(["a"]);
    expect(await person.runs("plan", "--detailed-exitcode")).toMatchObject({ code: 0 });
  });
});
