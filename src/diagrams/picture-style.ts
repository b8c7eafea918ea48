/** Colours and fonts of the picture. Light by default, dark where the viewer prefers it. */
import { type } from './measure.ts';

const light = `
--paper:#ffffff;--group:#f6f7f9;--box:#ffffff;--edge:#c3c9d4;--line:#8a93a3;--ink:#1b2230;--soft:#5b6577;
--error:#b3261e;--busy:#e6f0ff;--busy-edge:#5b8def;--wait:#fff1d6;--wait-edge:#d98a00;
--active:#0a7f5a;--active-fill:#d8f5e9;`;

const dark = `
--paper:#12161d;--group:#191f28;--box:#232b37;--edge:#3f4a5a;--line:#8a95a7;--ink:#e8ecf3;--soft:#a3adbd;
--error:#ff8a80;--busy:#1c3157;--busy-edge:#6d9cf5;--wait:#473512;--wait-edge:#e5a63a;
--active:#3ddba4;--active-fill:#124534;`;

/** The whole style sheet; every rule is limited to the picture, which may stand inside a page. */
export const pictureStyle = `
.statechart{${light}font-family:system-ui,-apple-system,"Segoe UI",sans-serif}
@media (prefers-color-scheme:dark){.statechart{${dark}}}
.statechart .paper{fill:var(--paper)}
.statechart text{fill:var(--ink)}
.statechart .centred{text-anchor:middle}
.statechart .name{font-size:${type.name.fontSize}px;font-weight:600}
.statechart .doing{font-size:${type.doing.fontSize}px;fill:var(--soft)}
.statechart .about{font-size:${type.about.fontSize}px;fill:var(--soft);font-style:italic}
.statechart .note,.statechart .label text{font-size:${type.note.fontSize}px;font-family:ui-monospace,Menlo,Consolas,monospace}
.statechart .note{fill:var(--soft)}
.statechart .box,.statechart .inner{fill:var(--box);stroke:var(--edge);stroke-width:1.2}
.statechart .inner{fill:none}
.statechart .machine .box{fill:none;stroke:none}
.statechart .machine .name{font-size:${type.title.fontSize}px}
.statechart .group .box{fill:var(--group)}
.statechart .final .box,.statechart .final .inner{stroke:var(--line)}
.statechart .history .box{stroke-dasharray:4 3}
.statechart .tag-busy .box{fill:var(--busy);stroke:var(--busy-edge)}
.statechart .tag-waitsForHuman .box{fill:var(--wait);stroke:var(--wait-edge)}
.statechart .line{fill:none;stroke:var(--line);stroke-width:1.2}
.statechart .head{fill:var(--line)}
.statechart .start{fill:var(--ink)}
.statechart .label rect{fill:var(--paper)}
.statechart .on-group rect{fill:var(--group)}
.statechart .label text{fill:var(--ink)}
.statechart .error .line{stroke:var(--error)}
.statechart .error .head,.statechart .note.error,.statechart .label.error text{fill:var(--error)}
.statechart .active>.box{stroke:var(--active);stroke-width:2.5}
.statechart .active:not(.group)>.box{fill:var(--active-fill)}
`;
