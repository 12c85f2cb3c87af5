import { expect, test } from "vitest";
import { packageSourceOf } from "./page-source.ts";

test("the element terraform-get names the address, in any order and quoting of its attributes", () => {
  for (const element of [
    '<meta name="terraform-get" content="git::https://a.example/b?ref=1">',
    "<META\n  content='git::https://a.example/b?ref=1' name=terraform-get />",
    '<meta charset="utf-8"><meta class="x" name="terraform-get" content="git::https://a.example/b?ref=1">',
  ]) {
    expect(packageSourceOf(`<html><head>${element}</head>`), element).toBe(
      "git::https://a.example/b?ref=1",
    );
  }
});

test("other elements name none", () => {
  for (const page of [
    "",
    '<meta name="terraform-get-other" content="a">',
    '<meta name="terraform-get"><p content="a">',
    '<meta name="description" content="name=terraform-get">',
    '<meta name="terraform-get" content="">',
  ]) {
    expect(packageSourceOf(page), page).toBeUndefined();
  }
});

test("a page of a megabyte that was made to be read slowly is read", () => {
  for (const part of [
    '<META\tNAME=TERRAFORM-GET"',
    "<meta ",
    '<meta name=terraform-get content="',
  ]) {
    expect(packageSourceOf(`${part.repeat(2 ** 20 / part.length)}>`), part).toBeUndefined();
  }
});
