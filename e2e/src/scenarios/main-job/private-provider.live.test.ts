import { describe, expect, it } from "vitest";
import { head, note } from "./templates.ts";
import { plain, storiesOfThisFile } from "./with-story.ts";

const begin = storiesOfThisFile();

describe("a private provider", { timeout: 240_000 }, () => {
  it("is published, and carries a stack from its first plan to its end", async () => {
    const story = await begin();
    const made = await story.publish(1);
    expect(made.status).toBe(201);
    expect(await made.json()).toMatchObject({
      provider_source: `huawei.com/private-provider/${story.provider}`,
    });

    const person = await story.person();
    const table = `resource "terraform_data" "table" {
  input = { a = notes_note.a.id, b = notes_note.b.id }
}
output "table" { value = terraform_data.table.output }
`;
    const top = head(story, "1.0.0");
    await person.configures(top + note(story, "a", "one") + note(story, "b", "two") + table);
    const planned = await person.runs("plan", "--detailed-exitcode");
    expect(planned.code, planned.error).toBe(2);
    expect(await story.notes()).toEqual([]);
    const up = await person.runs("up", "--yes");
    expect(up.code, up.error).toBe(0);
    expect(up.output).toContain("3 added, 0 changed, 0 destroyed");
    expect(await story.notes()).toEqual(["a", "b"]);
    expect(JSON.parse((await person.runs("output", "-json", "table")).output)).toEqual({
      a: `id-${story.provider}-a`,
      b: `id-${story.provider}-b`,
    });
    expect(await person.runs("plan", "--detailed-exitcode")).toMatchObject({ code: 0 });
    expect(await story.uses()).toEqual(["1.0.0"]);

    // One changed, one gone.
    await person.configures(top + note(story, "a", "other"));
    const changed = await person.runs("up", "--yes");
    expect(changed.code, changed.error).toBe(0);
    expect(changed.output).toContain("0 added, 1 changed, 2 destroyed");
    expect(await story.notes()).toEqual(["a"]);

    const destroyed = await person.runs("destroy", "--yes");
    expect(destroyed.code, destroyed.error).toBe(0);
    expect(destroyed.output).toContain("1 destroyed");
    expect(await story.notes()).toEqual([]);
    expect((await story.delete()).status).toBe(204);
  });

  it("gets a version with another form, which upgrades what is recorded, and nothing leads back", async () => {
    const story = await begin();
    await story.publish(1);
    const person = await story.person();
    await person.configures(head(story, "1.0.0") + note(story, "a", "one"));
    expect(await person.runs("up", "--yes")).toMatchObject({ code: 0 });
    expect(await person.recorded()).toMatchObject([{ schema_version: 0 }]);

    expect((await story.publish(2)).status).toBe(201);
    await person.configures(head(story, "2.0.0") + note(story, "a", "one", '  mood = "fine"'));
    const up = await person.runs("up", "--yes");
    expect(up.code, up.error).toBe(0);
    expect(up.output).toContain("0 added, 1 changed, 0 destroyed");
    expect(await person.recorded()).toMatchObject([
      { schema_version: 1, values: { mood: "fine" } },
    ]);
    expect(await story.uses()).toEqual(["2.0.0"]);

    await person.configures(head(story, "1.0.0") + note(story, "a", "one"));
    const back = await person.runs("plan");
    expect(back.code).toBe(1);
    expect(plain(back)).toContain("Use the newer version");
    expect(await person.recorded()).toMatchObject([{ schema_version: 1 }]);
  });

  it("loses a version that a stack uses: a warning, a sentence in every run, and back again", async () => {
    const story = await begin();
    await story.publish(1);
    const person = await story.person();
    await person.configures(head(story, "1.0.0") + note(story, "a", "one"));
    expect(await person.runs("up", "--yes")).toMatchObject({ code: 0 });

    await story.publish(2);
    const deleted = await story.delete("1.0.0");
    expect(deleted.status).toBe(204);
    expect(deleted.headers.get("x-rfs-warning")).toContain("was deleted while it is in use by ");
    for (const words of [["plan"], ["up", "--yes"], ["destroy", "--yes"]]) {
      const ended = await person.runs(...words);
      expect(ended.code).toBe(1);
      expect(plain(ended)).toContain(`"${story.provider}" has no version 1.0.0`);
    }
    expect(await person.recorded()).toHaveLength(1);
    expect(await story.notes()).toEqual(["a"]);

    expect((await story.publish(1, false)).status).toBe(201);
    expect(await person.runs("plan", "--detailed-exitcode")).toMatchObject({ code: 0 });
  });
});
