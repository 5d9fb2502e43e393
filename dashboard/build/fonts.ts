/** Vite plugin that cuts the two fonts to the characters and weights that the dashboard uses. */
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import subsetFont from "subset-font";
import type { Plugin } from "vite";

const require = createRequire(import.meta.url);

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => String.fromCodePoint(from + i)).join("");
const LATIN = range(0x20, 0x7e) + range(0xa0, 0xff) + "–—‘’“”•…€−≈↑↓";
const ASCII = range(0x20, 0x7e) + "–—…·•";

const FONTS = [
  { name: "inter", file: "@fontsource-variable/inter/files/inter-latin-wght-normal.woff2", text: LATIN, max: 600, ligatures: true },
  { name: "jetbrains-mono", file: "@fontsource-variable/jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2", text: ASCII, max: 500, ligatures: false },
];

async function cut(directory: string, font: (typeof FONTS)[number]) {
  const target = join(directory, `${font.name}.woff2`);
  const source = require.resolve(font.file);
  const present = statSync(target, { throwIfNoEntry: false });
  if (present && present.mtimeMs > statSync(source).mtimeMs && present.mtimeMs > statSync(new URL("../package-lock.json", import.meta.url)).mtimeMs) return;
  const bytes = await subsetFont(readFileSync(source), font.text, {
    targetFormat: "woff2",
    noLayoutClosure: !font.ligatures,
    variationAxes: { wght: { min: 400, max: font.max, default: 400 } },
  });
  writeFileSync(target, bytes);
}

/** Makes `@fonts/inter.woff2` and `@fonts/jetbrains-mono.woff2` available to CSS. */
export function fonts(): Plugin {
  const directory = join(process.cwd(), "node_modules", ".fonts");
  return {
    name: "gatehouse-fonts",
    config: async () => {
      mkdirSync(directory, { recursive: true });
      await Promise.all(FONTS.map((font) => cut(directory, font)));
      return { resolve: { alias: { "@fonts": directory } } };
    },
  };
}
