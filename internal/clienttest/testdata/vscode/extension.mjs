// A person at VS Code with our extension: goes through the list of the
// specification (14.4).
import fs from 'node:fs'
import { answer, asked, choose, command, down, enter, find, frame, idle, inView, killed, open, outside, page, press, row, say, shot, status, tabTo, tell, toast, toRow } from './window.mjs'

/** partInView is the row of one part of a file's changes. */
const partInView = (name) => inView('').filter({ hasText: new RegExp(`^${name}$`) }).first()

/** decide keeps or undoes the changes of a file, or one part of them, by keys alone. */
async function decide (action, name, part) {
  await toRow(name)
  if (part) {
    await page.keyboard.press('ArrowRight')
    await partInView(part).waitFor()
    await down('.part.sidebar .pane-body .monaco-list:focus .monaco-list-row.focused', (text) => text.trim() === part)
  }
  await page.keyboard.press('Shift+F10')
  await page.waitForSelector(`.monaco-menu .action-item:has-text("${action}")`)
  await down('.monaco-menu .action-item.focused', (text) => text.includes(action))
  await page.keyboard.press('Enter')
}

/** actions lists the code actions, once VS Code knows of one. */
async function actions (title) {
  const row = page.locator(`.action-widget .monaco-list-row:has-text("${title}")`).first()
  for (let tries = 0; tries < 12 && !await row.isVisible(); tries++) {
    await page.keyboard.press('Control+.')
    await row.waitFor({ timeout: 5000 }).catch(() => page.keyboard.press('Escape'))
  }
  await row.waitFor()
}

await tell({
  async starts () {
    await status('Agents')
    await idle()
  },
  async 'trusts the folder' () {
    await command('Agents: Focus on Agents View')
    const fixer = inView('fixer').first()
    await fixer.locator('.codicon-lock').waitFor()
    await command('Agents: Trust This Folder')
    await page.waitForSelector('.notifications-center .notification-list-item:has-text("Trust ")')
    await shot('trust-question')
    await press('Show what it brings')
    await page.waitForSelector('.tab:has-text("trust ")')
    await press('Trust this folder')
    await fixer.locator('.codicon-hubot').waitFor()
    return (await inView('').allInnerTexts()).join(' | ')
  },
  async 'shows a mistake' () {
    await open('broken.md')
    await page.waitForSelector('.squiggly-warning, .squiggly-error')
    await page.waitForSelector('.codelens-decoration a:has-text("Validate")')
  },
  async 'fixes and completes' () {
    await find('read_fil')
    await page.waitForSelector('.codicon-gutter-lightbulb, .codicon-light-bulb, [class*="lightbulb"]') // VS Code knows of the fixes
    await actions('read_file')
    await shot('fixes')
    await page.keyboard.press('Enter')
    await page.waitForSelector('.view-line:has-text("read_file, write_file")')
    await page.waitForSelector('.squiggly-warning, .squiggly-error', { state: 'detached' })
    await find(', bash')
    await page.keyboard.type(', gre')
    await page.keyboard.press('Control+Space')
    await page.waitForSelector('.suggest-widget.visible .monaco-list-row:has-text("grep")')
    await shot('completion')
    const offered = await page.locator('.suggest-widget.visible .monaco-list-row').allInnerTexts()
    await page.keyboard.press('Enter')
    await page.waitForSelector('.view-line:has-text("bash, grep")')
    return offered.join(' | ').replaceAll('\n', ' ')
  },
  async 'renames an agent' () {
    await find('name: broken')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('F2')
    await page.waitForSelector('.rename-box input:focus')
    await page.keyboard.press('Control+a')
    await page.keyboard.type('tidier')
    await page.keyboard.press('Enter')
    await page.waitForSelector('.tab:has-text("tidier.md")')
    await page.waitForSelector('.view-line:has-text("name: tidier")')
    await command('File: Save All Files')
    await page.waitForSelector('.tab.dirty', { state: 'detached' })
    await open('finder.md')
    await page.waitForSelector('.view-line:has-text("to: tidier")')
    for (const name of ['tidier', 'finder']) await inView(name).first().locator('.codicon-hubot').waitFor() // it stays approved
  },
  async 'streams in chat' () {
    await open('note.txt')
    await say('@agents @fixer tell me a story')
    await page.waitForSelector('.interactive-response:has-text("And then there were")')
    const a = answer('Once upon a time')
    if (await a.locator('.rendered-markdown img').count() > 0) throw new Error('an image of the answer is shown')
    if (await a.locator('a[data-href^="command:"]').count() > 0) throw new Error('a link of the answer runs a command')
    if (outside.size > 0) throw new Error('the answer made a request: ' + [...outside])
    return (await a.innerText()).replaceAll('\n', ' ')
  },
  async 'asks and is refused' () {
    await say('@agents run a command')
    await asked('bash echo danger')
    const whole = await page.locator('.editor-instance .view-lines').first().innerText()
    await shot('question-command')
    await page.keyboard.press('Control+Alt+a')
    await row('Reject, and say why').waitFor()
    const offered = await page.locator('.quick-input-list .monaco-list-row').allInnerTexts()
    await shot('question-answers')
    await choose('Reject, and say why')
    await enter('wants to run bash', 'leave files alone')
    await answer('You said no').waitFor()
    return [whole, ...offered].join(' | ').replaceAll('\n', ' ')
  },
  async 'shows a change' () {
    await say('@agents buy oats')
    await asked('edit_file note.txt')
    await page.waitForSelector('.monaco-diff-editor .view-line:has-text("oat milk")')
  },
  async 'accepts it after an edit' () {
    await page.keyboard.press('Control+Alt+a')
    await choose('Edit it before accepting')
    await page.waitForSelector('.monaco-diff-editor .editor.modified .monaco-editor.focused')
    await page.keyboard.press('Control+Home')
    await page.keyboard.press('End')
    await page.keyboard.type(', unsweetened')
    await shot('edited')
    await command('Agents: Allow Once')
    await answer('on the list now').waitFor()
    await open('note.txt')
    await page.waitForSelector('.view-line:has-text("oat milk, unsweetened")')
  },
  async 'marks what changed' () {
    await page.waitForFunction(() => [...document.querySelectorAll('.editor-instance .view-overlays div[class*="ced-"]')]
      .some((d) => getComputedStyle(d).backgroundColor !== 'rgba(0, 0, 0, 0)'))
    await toRow('note.txt')
    await page.keyboard.press('Enter')
    await page.waitForSelector('.tab.active:has-text("note.txt (by agents)")')
  },
  async 'undoes it' () {
    await decide('Undo', 'note.txt')
    await command('View: Close Editor') // the comparison
    await open('note.txt')
    await page.waitForSelector('.view-line:has-text("oat milk")', { state: 'detached' })
    await page.waitForSelector('.view-line:has-text("milk")')
  },
  async 'decides on the parts of a change' () {
    await say('@agents change the ends')
    for (const text of ['1st', 'nth']) {
      await page.waitForSelector(`.monaco-diff-editor .view-line:has-text("${text}")`)
      await command('Agents: Allow Once')
    }
    await answer('Both ends are changed').waitFor()
    await decide('Keep', 'list.txt', 'Line 1')
    await partInView('Line 1').waitFor({ state: 'detached' })
    await shot('kept')
    await decide('Undo', 'list.txt', 'Line 14')
    await inView('list.txt').first().waitFor({ state: 'detached' })
    await open('list.txt')
    await page.waitForSelector('.view-line:has-text("1st")')
    await page.waitForSelector('.view-line:has-text("last")')
  },
  async 'rewinds' () {
    await command('Agents: Rewind Session')
    await choose('tell me a story')
    await choose('change the ends')
    await row('The conversation and the files').waitFor()
    await shot('what-goes-back')
    await choose('The conversation and the files')
    const said = toast('no longer part of the conversation')
    await said.waitFor()
    await page.waitForSelector('.view-line:has-text("first")')
    const toasted = await said.locator('.notification-list-item-message').innerText()
    await say('@agents what is next')
    await answer('Whatever you like').waitFor()
    await shot('told-in-chat')
    const text = await answer('Whatever you like').innerText()
    if (!/^\W*Agents\s+The session went back to before “change the ends”/.test(text)) throw new Error('the chat does not say what went: ' + text)
    await say('@agents and then')
    await answer('Nothing more').waitFor()
    if ((await answer('Nothing more').innerText()).includes('went back')) throw new Error('it is said twice')
    return `${toasted} | ${text.replaceAll('\n', ' ')}`
  },
  async 'forks' () {
    await command('Agents: Fork Session')
    await choose('tell me a story')
    await row('run a command').waitFor()
    await shot('from-before-which')
    await choose('run a command')
    await frame().locator('.entry.text:has-text("Once upon a time")').waitFor()
    const text = await frame().locator('#timeline').innerText()
    if (!text.includes('Forked: what you say here')) throw new Error('the fork does not say what it is: ' + text)
    if (text.includes('run a command')) throw new Error('the fork has what came later: ' + text)
    await inView('(fork)').first().waitFor()
    await shot('forked')
    await command('View: Close Editor')
    return text.replaceAll('\n', ' ')
  },
  async 'saves before a command reads' () {
    await open('list.txt')
    await page.keyboard.press('Control+Home')
    await page.keyboard.type('oranges\n')
    await page.waitForSelector('.tab.active.dirty')
    await say('@agents count the list')
    await asked('bash cat list.txt')
    await tabTo('Allow Once', 'Shift+Tab')
    await page.keyboard.press('Enter')
    await answer('It has oranges').waitFor()
    await page.waitForSelector('.tab.dirty:has-text("list.txt")', { state: 'detached' })
  },
  async 'runs on a selection' () {
    await open('note.txt')
    await page.keyboard.press('Control+Home')
    await page.keyboard.press('Shift+End')
    await actions('Ask fixer about the selection')
    await shot('actions')
    await down('.action-widget .monaco-list-row.focused', (text) => text.includes('Ask fixer'))
    await page.keyboard.press('Enter')
    await enter('What should fixer do with the selection?', 'what did I select')
    await answer('You selected the milk').waitFor()
  },
  async 'runs an inline command' () {
    await open('plan.md')
    await page.waitForSelector('.codelens-decoration a:has-text("Run")')
    await find('@fixer')
    await command('Show CodeLens Commands for Current Line')
    await choose('Run')
    const asks = toast('wants to run bash') // it comes from no conversation
    await asks.locator('.monaco-button:has-text("Allow Once")').waitFor()
    await shot('asked-inline')
    await command('Agents: Allow Once')
    await asks.waitFor({ state: 'detached' })
    await page.waitForSelector('.view-line:has-text("The list lacks bread")')
  },
  async 'has a type error fixed' () {
    await open('app.ts')
    await page.keyboard.press('Control+End')
    await page.keyboard.type('const label: string = sum(1, 2)\n')
    await page.waitForSelector('.squiggly-error')
    await shot('type-error')
    await say('@agents repair the types')
    await asked('edit_file app.ts')
    const disk = fs.readFileSync(`${process.env.WORK}/app.ts`, 'utf8')
    if (disk.includes('label')) throw new Error('the buffer was saved before the agent saw it: ' + disk)
    await command('Agents: Allow Once')
    await answer('The types fit now').waitFor()
    await open('app.ts')
    await page.waitForSelector('.view-line:has-text("label: number")')
    await page.waitForSelector('.squiggly-error', { state: 'detached' })
    await page.waitForSelector('.tab.active.dirty') // it was never saved
  },
  async 'cancels' () {
    await say('@agents take forever')
    await answer('I begin').waitFor()
    await status('1 running')
    await shot('running')
    await page.keyboard.press('Control+Escape')
    await idle()
  },
  async 'follows a handoff' () {
    await say('@agents @finder the list is wrong')
    await answer('The list is right now').waitFor()
    // The Chat view folds what an agent said before its tools into its steps.
    const text = (await answer('The list is right now').innerText()).replaceAll('\n', ' ')
    const order = ['finder → fixer', 'the note has to be edited', 'The list is right now'].map((part) => text.indexOf(part))
    if (order.some((at, i) => at < 0 || at < order[i - 1])) throw new Error('a handoff is not shown in its order: ' + text)
    return text
  },
  async 'hands over by a button' () {
    await say('@agents @finder what do you do')
    await answer('I look for mistakes').waitFor()
    await page.locator('text=Hand over to fixer').first().waitFor()
    await shot('handover-buttons')
    await tabTo('Hand over to fixer', 'Shift+Tab')
    await page.keyboard.press('Enter')
    await answer('I take over').waitFor()
  },
  async 'opens a session' () {
    await command('Agents: Focus on Sessions View')
    await inView('tell me a story').first().waitFor()
    await page.keyboard.press('Home')
    await down('.part.sidebar .monaco-list:focus .monaco-list-row.focused', (text) => text.includes('tell me a story') && !text.includes('(fork)'))
    await page.keyboard.press('Enter')
    await frame().locator('.entry.text').first().waitFor()
    await frame().locator('.entry.tool').first().waitFor()
    return (await frame().locator('#timeline').innerText()).replaceAll('\n', ' ').slice(0, 300)
  },
  async 'comes back after a crash' () {
    await killed()
    await idle()
    if (await page.evaluate(() => window.clicks) > 0) throw new Error('a mouse was needed')
    return 'all of this without a mouse'
  }
})
