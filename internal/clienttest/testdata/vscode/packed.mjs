// The package for a platform, installed as a person installs it: it runs the program that
// it brings, and is fast.
import { activation, choose, command, firstText, frame, idle, page, serverProgram, tell, trust, write } from './window.mjs'

const samples = 7
const median = (all) => [...all].sort((a, b) => a - b)[all.length >> 1]
const say = (name, all) => `${name}: median ${median(all)} of ${all.join(' ')}`

await tell({
  async 'runs what it brings' () {
    await idle()
    const program = serverProgram()
    if (!/extensions\/agentls\.agentls-[^/]*\/bin\/agentls$/.test(program)) throw new Error('the server is ' + program)
    await trust()
    return program
  },
  async 'has activated' () {
    const [ours, theirs] = await activation('Agents', 'bare-participant')
    return `activation: ${ours} ms (goal 100); of an extension of a few lines: ${theirs} ms`
  },
  async 'answers at once' () {
    const [ours, theirs] = [[], []]
    for (let i = 1; i <= samples; i++) { // in turn, so that both meet the same machine
      await write(`@agents @fixer greet ${i}`)
      ours.push(await firstText(page, '.interactive-response', `Day-${i}-`))
      await idle()
      await write(`@bare Bare-${i}-`)
      theirs.push(await firstText(page, '.interactive-response', `Bare-${i}-`))
    }
    const more = ours.map((ms, i) => ms - theirs[i])
    return `ms from Enter to the first text (goal 150). ${say('Ours', ours)}. ${say('A participant that repeats the words, which is VS Code alone', theirs)}. ${say('Ours over it', more)}`
  },
  async 'answers in a panel' () {
    await command('Agents: Ask an Agent in a Panel')
    await choose('fixer')
    const input = frame().locator('#input')
    await input.waitFor()
    const inner = await input.elementHandle().then((e) => e.ownerFrame())
    const took = []
    for (let i = 1; i <= samples; i++) {
      await input.focus()
      await page.keyboard.type(`panel ${i}`)
      took.push(await firstText(inner, '.entry.text', `Night-${i}-`))
      await frame().locator('.entry.end').nth(i - 1).waitFor()
    }
    return `ms from Enter to the first text (goal 150). ${say('Our panel', took)}`
  }
})
