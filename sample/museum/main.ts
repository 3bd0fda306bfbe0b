import 'reflect-metadata';
import { runCommand } from '../command.js';
import { Progress } from '../demo/progress.js';
import { sides } from './exhibit.js';
import { Gallery } from './gallery.js';
import { help, type MuseumOptions, readOptions } from './options.js';
import { asText, report, stepsOf } from './report.js';
import { serveGallery } from './serve-gallery.js';

const guises = { theirs: 'by hand', ours: 'nestjs-redis-lock' };

async function visit({ names, steps, json }: MuseumOptions, gallery: Gallery, signal: AbortSignal): Promise<boolean> {
  using progress = new Progress(process.stderr);
  for (const [index, name] of names.entries()) {
    const piece = gallery.piece(name);
    await gallery.run(name, signal, (side) => {
      if (piece[side].steps.length === 0) progress.step(`${index + 1}/${names.length} ${piece.title}, ${guises[side]}`);
    });
    progress.clear();
    if (steps && !json) for (const side of sides) console.log(stepsOf(`${piece.title}, ${guises[side]}`, piece[side]));
  }
  const result = report(gallery.pieces);
  console.log(json ? JSON.stringify(result, null, 2) : asText(result));
  return result.ok;
}

await runCommand(help, async (args, signal) => {
  const options = readOptions(args);
  if (options.help) {
    console.log(help);
    return true;
  }
  const gallery = await Gallery.open(options.names);
  return options.web ? serveGallery(gallery, options.port, signal) : visit(options, gallery, signal);
});
