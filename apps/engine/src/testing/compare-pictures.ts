import type { Page } from "playwright-core";

/** Of the difference of two colors as an eye sees it: the whole is 1. */
const MAX_DIFFERENCE = 0.1;

/** What two pictures (PNG) differ in. */
interface PictureDifference {
  /** Of the pixels, those that differ visibly: 0 to 1; 1 where the pictures have other sizes. */
  readonly share: number;
}

/** Compares two pictures in a page that shows nothing. */
export async function comparePictures(
  page: Page,
  left: Buffer,
  right: Buffer,
): Promise<PictureDifference> {
  const given = [left.toString("base64"), right.toString("base64"), MAX_DIFFERENCE];
  return page.evaluate<PictureDifference>(
    `(async ([left, right, limit]) => {
      const read = async (text) => {
        const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
        const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
        const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
        const context = canvas.getContext("2d");
        context.drawImage(bitmap, 0, 0);
        return context.getImageData(0, 0, bitmap.width, bitmap.height);
      };
      const [one, two] = [await read(left), await read(right)];
      if (one.width !== two.width || one.height !== two.height) return { share: 1 };
      // Brightness counts for more than the two axes of color (YIQ).
      const most = 35215;
      let count = 0;
      for (let at = 0; at < one.data.length; at += 4) {
        const red = one.data[at] - two.data[at];
        const green = one.data[at + 1] - two.data[at + 1];
        const blue = one.data[at + 2] - two.data[at + 2];
        if (red === 0 && green === 0 && blue === 0) continue;
        const y = 0.29889531 * red + 0.58662247 * green + 0.11448223 * blue;
        const i = 0.59597799 * red - 0.2741761 * green - 0.32180189 * blue;
        const q = 0.21147017 * red - 0.52261711 * green + 0.31114694 * blue;
        if (0.5053 * y * y + 0.299 * i * i + 0.1957 * q * q > most * limit * limit) count += 1;
      }
      return { share: count / (one.width * one.height) };
    })(${JSON.stringify(given)})`,
  );
}
