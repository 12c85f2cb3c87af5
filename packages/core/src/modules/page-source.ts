/**
 * The address of a package in a meta element of a page. Each element is read once, as what a host answers has any form: one
 * expression for all of it takes the fourth power of the length.
 */
export function packageSourceOf(page: string): string | undefined {
  for (const { index } of page.matchAll(/<meta\s/gi)) {
    const next = page.indexOf("<", index + 1);
    const element = page.slice(index, next === -1 ? page.length : next);
    const end = element.indexOf(">");
    const head = end === -1 ? element : element.slice(0, end + 1);
    if (!/\sname=["']?terraform-get["'\s>]/i.test(head)) continue;
    // A bracket in a quoted value does not end the element.
    const content = /\scontent=["']([^"']+)["']/i.exec(element);
    if (content?.[1] !== undefined && content.index < head.length) return content[1];
  }
  return undefined;
}
